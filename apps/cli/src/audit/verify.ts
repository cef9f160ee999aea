import { appendFile, readFile } from "node:fs/promises";
import {
  connectionSettings,
  type Examined,
  examineRecord,
  type Finding,
  type RecordReader,
  type Row,
  readLastBatch,
} from "@svc/seals";
import postgres from "postgres";
import { z } from "zod";
import { type Fault, notTried } from "../fault.ts";
import { colors, print, printJson, progress, shown } from "../output.ts";
import { checkProofFile, proveAction } from "./action-proof.ts";
import { inWords } from "./finding-words.ts";
import { pinnedKeys } from "./pinned-keys.ts";

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

/** The database of the record, read-only. */
function openRecord(url: string): RecordReader & { close(): Promise<void> } {
  const sql = connected(url);
  return {
    async query({ text, values }) {
      try {
        return await sql.unsafe<Row[]>(text, values, { prepare: true });
      } catch (cause) {
        throw unreadable(cause);
      }
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

function connected(url: string) {
  try {
    return postgres(url, {
      max: 1,
      connect_timeout: 5,
      onnotice: () => {},
      connection: { ...connectionSettings, application_name: "svc audit verify", default_transaction_read_only: true },
    });
  } catch (cause) {
    throw notTried("the database address is invalid", "Give --database-url as postgres://user@host/name.", cause);
  }
}

/** The driver's message may contain the address with its password. */
function unreadable(cause: unknown): Fault {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const fault = (message: string, advice: string) => notTried(message, advice, cause);
  if (code === lacksTable) {
    return fault(
      "the database has no seals",
      "Check that it is the control plane's, and start this release on it first.",
    );
  }
  if (code === lacksRight) {
    return fault(
      "the role may not read the record",
      "deploy/postgres/README.md shows how to create a role for auditors.",
    );
  }
  if (code.startsWith("28"))
    return fault("the database refuses the role", "Check user and password of --database-url.");
  return fault(
    `the database cannot be read (${code || "no code"})`,
    "Check --database-url, and that the database runs.",
  );
}

const lacksTable = "42P01";
const lacksRight = "42501";
