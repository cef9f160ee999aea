import { type Examined, examineRecord, type Finding, readLastBatch } from "@svc/seals";
import { Command, Option } from "commander";
import { checkProofFile, proveAction } from "../audit/action-proof.ts";
import { inWords } from "../audit/finding-words.ts";
import { keepHead, readHeads } from "../audit/kept-heads.ts";
import { pinnedKeys } from "../audit/pinned-keys.ts";
import { openRecord, type RecordDatabase } from "../audit/record-database.ts";
import { colors } from "../colors.ts";
import { Fault } from "../fault.ts";
import { print, printJson } from "../output.ts";
import { progressBar } from "../progress-bar.ts";

const examples = `
Examples:
  export AUDIT_DATABASE_URL=postgres://svc_auditor@db.example.com/svc
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --heads heads.ndjson
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --json | tail -n 1 | jq .keys > keys.json
                                   every key that ever sealed, which the newest seal vouches for
  svc audit verify --jwks keys.json --action "$ACTION_ID" > proof.json
  svc audit verify --jwks keys.json --proof proof.json

It asks the database and trusts nobody but the keys: neither the control plane nor whoever runs the database. Keep the
file of --heads elsewhere: it tells when the newest seals were taken away.

Exit codes: 0 everything is as it was sealed; 1 something is not; 2 it could not be looked at.
`;

interface VerifyFlags {
  readonly databaseUrl?: string;
  readonly jwks: string;
  readonly heads?: string;
  readonly maxUnsealed: number;
  readonly action?: string;
  readonly proof?: string;
  readonly json?: boolean;
}

export const verifyCommand = (): Command =>
  new Command("verify")
    .description("Find any row of the record that was changed, removed or inserted after it was sealed.")
    .requiredOption("--jwks <place>", "the issuer's key set, as a file or an address: the keys that are trusted")
    .addOption(new Option("--database-url <url>", "the database that holds the record").env("AUDIT_DATABASE_URL"))
    .option("--heads <file>", "seals that were seen before must still be there; the newest one is added")
    .addOption(
      new Option("--max-unsealed <seconds>", "how old a row may be that is not sealed yet")
        .default(3_600)
        .argParser(Number),
    )
    .addOption(new Option("--action <id>", "prove that this action is in the record").conflicts(["heads", "proof"]))
    .addOption(new Option("--proof <file>", "check such a proof, without any database").conflicts("heads"))
    .option("--json", "one line of JSON a finding, and one at the end: {intact, batches, rows, ...}")
    .addHelpText("after", examples)
    .action(verify);

async function verify(flags: VerifyFlags): Promise<void> {
  const keys = await pinnedKeys(flags.jwks);
  if (flags.proof !== undefined) return checkProofFile(flags.proof, keys, flags.json);
  const record = openRecord(addressOf(flags));
  try {
    if (flags.action !== undefined) await proveAction(record, keys, flags.action);
    else await examine(record, keys, flags);
  } finally {
    await record.close();
  }
}

function addressOf({ databaseUrl }: VerifyFlags): string {
  if (databaseUrl !== undefined) return databaseUrl;
  throw new Fault("there is no database to look at", "Give --database-url, or export AUDIT_DATABASE_URL=...", {
    exitCode: 2,
  });
}

async function examine(
  record: RecordDatabase,
  keys: Awaited<ReturnType<typeof pinnedKeys>>,
  { heads, maxUnsealed, json }: VerifyFlags,
): Promise<void> {
  if (!(maxUnsealed >= 0))
    throw new Fault("--max-unsealed is no number of seconds", "3600 is an hour.", { exitCode: 2 });
  const known = heads === undefined ? [] : await readHeads(heads);
  const last = Math.max(1, await readLastBatch(record));
  const bar = progressBar();
  const examination = examineRecord({
    reader: record,
    keys,
    heads: known,
    nowMs: Date.now(),
    maxUnsealedMs: maxUnsealed * 1_000,
    onBatch: (batch, rows) => bar.show(Math.min(1, batch / last), `batch ${batch}, ${rows} rows`),
  });
  let found = 0;
  let step = await examination.next();
  for (; !step.done; step = await examination.next()) {
    found++;
    bar.done();
    tell(step.value, json);
  }
  bar.done();
  if (found > 0) process.exitCode = 1;
  else if (heads !== undefined) await keepHead(heads, known, step.value.head);
  summarize(step.value, found, json);
}

function tell(finding: Finding, json: boolean | undefined): void {
  const { kind, batch, throughBatch, source, id, month } = finding;
  if (json) printJson({ kind, batch, through_batch: throughBatch, source, id, month });
  else print(`${colors.red("✗")} ${inWords(finding)}`);
}

const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

function summarize(examined: Examined, found: number, json: boolean | undefined): void {
  if (json) printJson(summaryOf(examined, found));
  else for (const line of summaryLines(examined, found)) print(line);
}

const summaryOf = ({ batches, rows, retired, head, unsealed, keys }: Examined, found: number) => ({
  intact: found === 0,
  findings: found,
  batches,
  rows,
  retired,
  head: head && { batch: head.batch, hash: head.hash, sealed_at: at(head.sealedAtMs) },
  unsealed: { rows: unsealed.rows, oldest: at(unsealed.oldestMs) },
  keys,
});

function* summaryLines({ batches, rows, retired, head, unsealed }: Examined, found: number): Generator<string> {
  const verdict = found === 0 ? colors.green("✓ intact") : colors.red(`✗ ${found} found`);
  yield `${verdict}: ${rows} rows in ${batches} batches stand as they were sealed`;
  if (retired.rows > 0) {
    yield `  ${retired.rows} rows of ${retired.batches} batches are past retention: ${retired.months.join(", ")}`;
  }
  if (unsealed.rows > 0) yield `  ${unsealed.rows} rows are not sealed yet, the oldest of ${at(unsealed.oldestMs)}`;
  if (head !== null) yield `  the newest seal is batch ${head.batch}, ${head.hash}`;
}
