import { appendFile, readFile } from "node:fs/promises";
import { type Examined, examineRecord, type Finding, type RecordReader, readLastBatch } from "@svc/seals";
import { z } from "zod";
import { notTried } from "../fault.ts";
import { colors, print, printJson, progress, shown } from "../output.ts";
import { checkProofFile, proveAction } from "./action-proof.ts";
import { inWords } from "./finding-words.ts";
import { pinnedKeys } from "./pinned-keys.ts";
import { openRecord } from "./record-database.ts";

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
  if (flags.databaseUrl === undefined) {
    throw notTried("the database address is missing", "Give --database-url, or export AUDIT_DATABASE_URL=...");
  }
  const record = openRecord(flags.databaseUrl);
  try {
    if (flags.action !== undefined) await proveAction(record, keys, flags.action);
    else await examine(record, keys, flags);
  } finally {
    await record.close();
  }
}

async function examine(
  reader: RecordReader,
  keys: Awaited<ReturnType<typeof pinnedKeys>>,
  { heads, maxUnsealed, json }: VerifyFlags,
): Promise<void> {
  if (!(maxUnsealed >= 0)) throw notTried("--max-unsealed must be a number of seconds", "3600 is one hour.");
  const known = heads === undefined ? [] : await readHeads(heads);
  const last = await readLastBatch(reader);
  const steps = progress({ everyMs: 5_000 });
  const examination = examineRecord({
    reader,
    keys,
    heads: known,
    nowMs: Date.now(),
    maxUnsealedMs: maxUnsealed * 1_000,
    onBatch: (batch, rows) => steps.show(`batch ${batch} of ${Math.max(batch, last)}, ${rows} rows`),
  });
  let found = 0;
  let step = await examination.next();
  for (; !step.done; step = await examination.next()) {
    found++;
    steps.done();
    report(step.value, json);
  }
  steps.done();
  if (found > 0) process.exitCode = 1;
  else if (heads !== undefined) await keepHead(heads, known, step.value.head);
  if (json) printJson(summaryOf(step.value, found));
  else for (const line of summaryLines(step.value, found)) print(line);
}

function report(finding: Finding, json: boolean | undefined): void {
  const { throughBatch, ...found } = finding;
  if (json) printJson({ ...found, through_batch: throughBatch });
  else print(`${colors.red("✗")} ${inWords(finding)}`);
}

const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const headOf = ({ batch, hash, sealedAtMs }: NonNullable<Examined["head"]>) => ({
  batch,
  hash,
  sealed_at: at(sealedAtMs),
});

/** Null: nothing was found, but a month is not provable yet. */
const isIntact = ({ notProvableYet }: Examined["retired"], found: number): boolean | null =>
  found === 0 && notProvableYet.length > 0 ? null : found === 0;

const verdicts = new Map([
  [true, colors.green("✓ intact")],
  [null, colors.yellow("! nothing found, not all provable yet")],
]);

const summaryOf = ({ batches, rows, retired, head, unsealed, keys }: Examined, found: number) => ({
  intact: isIntact(retired, found),
  findings: found,
  batches,
  rows,
  retired: {
    batches: retired.batches,
    rows: retired.rows,
    months: retired.months,
    not_provable_yet: retired.notProvableYet.map(({ month, sealedByMs }) => ({ month, sealed_by: at(sealedByMs) })),
  },
  head: head && headOf(head),
  unsealed: { rows: unsealed.rows, oldest: at(unsealed.oldestMs) },
  keys,
});

function* summaryLines({ batches, rows, retired, head, unsealed }: Examined, found: number): Generator<string> {
  const verdict = verdicts.get(isIntact(retired, found)) ?? colors.red(`✗ ${found} found`);
  yield `${verdict}: ${rows} rows in ${batches} batches checked`;
  if (retired.rows > 0) {
    yield `  ${retired.rows} rows of ${retired.batches} batches are past retention: ${shown(retired.months.join(", "))}`;
  }
  for (const { month, sealedByMs } of retired.notProvableYet) {
    yield `  the event by which ${shown(month)} is past retention is not sealed yet: verify again, after ${at(sealedByMs)} it is a finding`;
  }
  if (unsealed.rows > 0) yield `  ${unsealed.rows} rows are not sealed yet, the oldest of ${at(unsealed.oldestMs)}`;
  if (head !== null) yield `  the newest seal is batch ${head.batch}, ${head.hash}`;
}

const headLine = z.object({ batch: z.int().min(1), hash: z.string().min(1) });

/** The newest seals of earlier runs, one a line; none without the file. */
async function readHeads(path: string) {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return "";
    throw notTried(`${path} cannot be read`, "Check --heads.", cause);
  });
  try {
    return text
      .split("\n")
      .filter(Boolean)
      .map((each) => headLine.parse(JSON.parse(each)));
  } catch (cause) {
    const advice = "It has one {batch, hash} a line, as this command writes it. Restore a copy, or start a new file.";
    throw notTried(`${path} is no file of seals`, advice, cause);
  }
}

/** Appends the newest seal, once. */
async function keepHead(path: string, known: readonly { batch: number }[], head: Examined["head"]): Promise<void> {
  if (head === null || known.some(({ batch }) => batch === head.batch)) return;
  await appendFile(path, `${JSON.stringify(headOf(head))}\n`, { mode: 0o600, flush: true }).catch((cause: unknown) => {
    throw notTried(`${path} cannot be written`, "Check --heads.", cause);
  });
}
