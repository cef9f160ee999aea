import { type Examined, examineRecord, type Finding, readLastBatch } from "@svc/seals";
import { colors } from "../colors.ts";
import { Fault } from "../fault.ts";
import { print, printJson } from "../output.ts";
import { progressBar } from "../progress-bar.ts";
import { checkProofFile, proveAction } from "./action-proof.ts";
import { inWords } from "./finding-words.ts";
import { keepHead, readHeads } from "./kept-heads.ts";
import { pinnedKeys } from "./pinned-keys.ts";
import { openRecord, type RecordDatabase } from "./record-database.ts";

export interface VerifyFlags {
  readonly databaseUrl?: string;
  readonly jwks: string;
  readonly heads?: string;
  readonly maxUnsealed: number;
  readonly action?: string;
  readonly proof?: string;
  readonly json?: boolean;
}

export async function verifyRecord(flags: VerifyFlags): Promise<void> {
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
  throw new Fault("the database address is missing", "Give --database-url, or export AUDIT_DATABASE_URL=...", {
    exitCode: 2,
  });
}

async function examine(
  record: RecordDatabase,
  keys: Awaited<ReturnType<typeof pinnedKeys>>,
  { heads, maxUnsealed, json }: VerifyFlags,
): Promise<void> {
  if (!(maxUnsealed >= 0))
    throw new Fault("--max-unsealed must be a number of seconds", "3600 is one hour.", { exitCode: 2 });
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
    report(step.value, json);
  }
  bar.done();
  if (found > 0) process.exitCode = 1;
  else if (heads !== undefined) await keepHead(heads, known, step.value.head);
  summarize(step.value, found, json);
}

function report(finding: Finding, json: boolean | undefined): void {
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
  yield `${verdict}: ${rows} rows in ${batches} batches checked`;
  if (retired.rows > 0) {
    yield `  ${retired.rows} rows of ${retired.batches} batches are past retention: ${retired.months.join(", ")}`;
  }
  if (unsealed.rows > 0) yield `  ${unsealed.rows} rows are not sealed yet, the oldest of ${at(unsealed.oldestMs)}`;
  if (head !== null) yield `  the newest seal is batch ${head.batch}, ${head.hash}`;
}
