import { setTimeout as delay } from "node:timers/promises";
import type { DecisionFilters } from "@svc/client";
import { Command, Option } from "commander";
import type { EvidenceFlags } from "../audit/export-evidence.ts";
import type { VerifyFlags } from "../audit/verify.ts";
import type { VerifyExportFlags } from "../audit/verify-export.ts";
import { commandGroup } from "../command-group.ts";
import { type ControlPlane, type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type DecisionFlags, toFilters, withDecisionFilters } from "../decision-filters.ts";
import { type ExportFile, openExport } from "../export-file.ts";
import { progress } from "../output.ts";
import { decisionsWithin, horizonMs } from "../tail.ts";
import { past } from "../times.ts";
import { wholeSessionId } from "../whole-id.ts";

const examples = `
Examples:
  svc audit export --since 30d --output decisions.ndjson
                                   one line of JSON a decision, oldest first; the same command continues an interrupted export
  svc audit export --since 24h --outcome deny | jq -r .deny_reason | sort | uniq -c
  svc audit export --since 30d --to evidence
                                   a new folder: every sealed row, and what proves it to a stranger
  svc audit export --since 30d --format ocsf --to evidence-ocsf
`;

export const command = (): Command =>
  commandGroup("audit", examples, [
    withDecisionFilters(withControlPlane(new Command("export")))
      .description("Write the decisions of a span as NDJSON, oldest first, each once.")
      .option("--output <file>", "write there, and continue there (default: standard output)")
      .option("--json", "the default")
      .option("--to <folder>", "write every sealed row of the span with its proof into a new folder")
      .addOption(new Option("--format <format>", "of the rows of --to").choices(["jsonl", "ocsf", "cloudevents"]))
      .addOption(new Option("--database-url <url>", "the database of --to").env("AUDIT_DATABASE_URL"))
      .action(exportRecord),
  ])
    .addCommand(verifyCommand())
    .addCommand(verifyExportCommand());

type ExportFlags = ControlPlaneFlags & DecisionFlags & EvidenceFlags & { output?: string };

const exportRecord = async (flags: ExportFlags): Promise<void> =>
  flags.to === undefined
    ? exportDecisions(flags)
    : // Loaded when it runs, like the verification.
      (await import("../audit/export-evidence.ts")).exportEvidence({ ...flags, to: flags.to });

const verifyExamples = `
Examples:
  export AUDIT_DATABASE_URL=postgres://svc_auditor@db.example.com/svc
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --heads heads.ndjson
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --json | tail -n 1 | jq .keys > keys.json
                                   every key that ever sealed, vouched for by the newest seal
  svc audit verify --jwks keys.json --action "$ACTION_ID" > proof.json
  svc audit verify --jwks keys.json --proof proof.json

It reads the database and trusts only the keys, not the control plane or the database's operator. Keep the file of --heads on
another machine: it shows when the newest seals were removed.

Exit codes: 0 nothing was found; 1 the record is not as sealed; 2 it could not be verified.
`;

export const verifyCommand = (): Command =>
  new Command("verify")
    .description("Find any row of the record that was changed, removed or inserted after it was sealed.")
    .requiredOption("--jwks <place>", "the trusted keys: the issuer's key set, as a file or an address")
    .addOption(new Option("--database-url <url>", "the database of the record").env("AUDIT_DATABASE_URL"))
    .option("--heads <file>", "requires the seals in the file, and adds the newest one")
    .addOption(
      new Option("--max-unsealed <seconds>", "maximum age of an unsealed row").default(3_600).argParser(Number),
    )
    .addOption(new Option("--action <id>", "prove that this action is in the record").conflicts(["heads", "proof"]))
    .addOption(new Option("--proof <file>", "check such a proof, without any database").conflicts("heads"))
    .option("--json", "one line of JSON a finding, and one at the end: {intact, batches, rows, ...}")
    .addHelpText("after", verifyExamples)
    // Loaded when it runs: signatures and the database driver would slow down the help.
    .action(async (flags: VerifyFlags) => (await import("../audit/verify.ts")).verifyRecord(flags));

const verifyExportExamples = `
Examples:
  svc audit verify-export evidence --jwks keys.json
  svc audit verify-export evidence --key "$THUMBPRINT" --since 2026-01-01T00:00Z --until 2026-02-01T00:00Z
  svc audit verify-export evidence --jwks https://authz.example.com/.well-known/jwks.json --json

It reads the folder alone: no database, and with a file of keys no network. Without keys that the reader trusts it finds each
change of the rows, but the folder proves nothing: the exit code is 2. node evidence/verify.mjs does the same without svc.

Exit codes: 0 nothing was found; 1 the export is not as it was sealed; 2 it could not be verified.
`;

export const verifyExportCommand = (): Command =>
  new Command("verify-export")
    .description("Find any row of an export that was changed, removed, inserted or moved.")
    .argument("<folder>", "of svc audit export --to")
    .option("--jwks <place>", "the trusted keys: the issuer's key set, as a file or an address")
    .option("--key <thumbprint...>", "a trusted key by its thumbprint (RFC 7638)")
    .option("--since <time>", "requires rows from then on", past)
    .option("--until <time>", "requires rows before then", past)
    .option("--json", "one line of JSON a finding, and one at the end: {intact, batches, rows, ...}")
    .addHelpText("after", verifyExportExamples)
    .action(async (folder: string, flags: VerifyExportFlags) =>
      (await import("../audit/verify-export.ts")).verifyExport(folder, flags),
    );

/** The API returns newest first, so a slice of time is read completely before it is written. */
const rowsPerSlice = 2_000;
const shortestSliceMs = 1_000;
const longestSliceMs = 86_400_000;

async function exportDecisions(flags: ControlPlaneFlags & DecisionFlags & { output?: string }): Promise<void> {
  const plane = openControlPlane(flags);
  const session = flags.session && (await wholeSessionId(plane, flags.session));
  const { since, until, ...filters } = toFilters({ ...flags, ...(session !== undefined && { session }) });
  // Reads the control plane's clock, and fails early for a wrong bearer.
  await plane.call("audit", (svc) => svc.audit.decisions({ limit: 1 }));
  const sinceMs = since === undefined ? plane.nowMs() - longestSliceMs : Date.parse(since);
  const endMs = until === undefined ? plane.nowMs() - horizonMs : Date.parse(until);
  const file =
    flags.output === undefined
      ? toStandardOutput(sinceMs)
      : await openExport(flags.output, await queryText(filters, until), sinceMs);
  const steps = progress({ everyMs: 5_000 });
  try {
    await copy(plane, filters, file, endMs, steps.show);
  } finally {
    steps.done();
    await file.close();
  }
}

/** Identifies the export in its state file: the query in wire spelling. A span without an end continues where it was. */
async function queryText(filters: DecisionFilters, until: string | undefined): Promise<string> {
  const { snakeCase } = await import("@svc/core");
  const given = Object.entries({ ...filters, until }).map(([name, value]) => [snakeCase(name), value?.toString()]);
  return JSON.stringify(Object.fromEntries(given));
}

const toStandardOutput = (sinceMs: number): ExportFile => ({
  sinceMs,
  fromMs: sinceMs,
  append: async (lines) => void process.stdout.write(lines),
  close: async () => {},
});

async function copy(
  plane: ControlPlane,
  filters: DecisionFilters,
  file: ExportFile,
  endMs: number,
  onSlice: (step: string) => void,
): Promise<void> {
  const { decisionRow, toWire } = await import("@svc/core");
  let fromMs = file.fromMs;
  let sliceMs = 60_000;
  let count = 0;
  while (fromMs < endMs) {
    const untilMs = Math.min(fromMs + sliceMs, endMs);
    // The span may end in the future: a slice is read only once it can no longer change.
    while (untilMs > plane.nowMs() - horizonMs) await delay(200);
    const rows = await decisionsWithin(plane, filters, fromMs, untilMs);
    await file.append(rows.map((row) => `${JSON.stringify(toWire(decisionRow, row))}\n`).join(""), untilMs);
    count += rows.length;
    fromMs = untilMs;
    const percent = Math.floor((100 * (fromMs - file.sinceMs)) / (endMs - file.sinceMs));
    onSlice(`${percent} %: ${count} decisions, up to ${new Date(fromMs).toISOString()}`);
    if (rows.length > rowsPerSlice) sliceMs = Math.max(shortestSliceMs, sliceMs / 2);
    else if (rows.length < rowsPerSlice / 4) sliceMs = Math.min(longestSliceMs, sliceMs * 4);
  }
}
