import { type EvidenceFormat, EvidenceRefused, writeEvidence } from "@svc/seals";
import { Fault, notTried } from "../fault.ts";
import { colors, print, printJson, progress } from "../output.ts";
import { openRecord } from "./record-database.ts";

export interface EvidenceFlags {
  readonly to?: string;
  readonly format?: EvidenceFormat;
  readonly databaseUrl?: string;
  readonly since?: string;
  readonly until?: string;
  readonly json?: boolean;
}

/** Filters choose decisions of the API: an export of evidence is whole, or it could not show what was left out. */
const notWithTo = [
  "output",
  "session",
  "agent",
  "outcome",
  "denyReason",
  "targetKind",
  "taint",
  "privileged",
  "observed",
  "enforced",
] as const;

const defaultSpanMs = 86_400_000;

/** Writes the sealed rows of a span, with what proves them, into a new folder. */
export async function exportEvidence(
  flags: EvidenceFlags & { readonly to: string } & Readonly<Record<string, unknown>>,
): Promise<void> {
  const { to, format = "jsonl", databaseUrl, since, until } = flags;
  const filter = notWithTo.find((name) => flags[name] !== undefined);
  if (filter !== undefined) {
    const option = filter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw notTried(`--${option} cannot be combined with --to`, "--to exports every row of a span: --since, --until.");
  }
  if (databaseUrl === undefined) {
    throw notTried("the database address is missing", "Give --database-url, or export AUDIT_DATABASE_URL=...");
  }
  const nowMs = Date.now();
  const steps = progress({ everyMs: 5_000 });
  const record = openRecord(databaseUrl);
  try {
    const manifest = await writeEvidence({
      reader: record,
      folder: to,
      format,
      sinceMs: since === undefined ? nowMs - defaultSpanMs : Date.parse(since),
      untilMs: until === undefined ? undefined : Date.parse(until),
      nowMs,
      onBatch: (batch, lastBatch, rows) => steps.show(`batch ${batch} of ${lastBatch}, ${rows} rows`),
    });
    steps.done();
    if (flags.json) return printJson({ folder: to, ...manifest });
    print(`${colors.green("✓")} ${manifest.rows} rows in ${manifest.batches} batches are in ${to}`);
    print(`  every sealed row from ${manifest.since} to ${manifest.until}`);
    print(`  verify it: svc audit verify-export ${to} --jwks PLACE, or node ${to}/verify.mjs --jwks FILE`);
  } catch (cause) {
    steps.done();
    throw refused(cause, to);
  } finally {
    await record.close();
  }
}

function refused(cause: unknown, folder: string): unknown {
  if (cause instanceof EvidenceRefused) {
    if (cause.kind === "nothing_sealed") {
      return notTried(cause.message, "Rows are sealed some minutes after they are made. Check --since and --until.");
    }
    return new Fault(cause.message, "svc audit verify lists every fault of the record.", { cause });
  }
  const code = cause instanceof Error && "syscall" in cause && "code" in cause ? cause.code : undefined;
  if (code === "EEXIST") return notTried(`${folder} exists already`, "Choose a new folder: --to overwrites nothing.");
  if (typeof code === "string" && !(cause instanceof Fault)) {
    return notTried(`${folder} cannot be written (${code})`, "Choose a new folder where you can write.", cause);
  }
  return cause;
}
