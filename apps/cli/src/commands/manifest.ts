import type { AgentRegistration, ManifestPreview, ManifestRead } from "@svc/client";
import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import {
  absentBy,
  type ControlPlane,
  type ControlPlaneFlags,
  openControlPlane,
  withControlPlane,
} from "../control-plane.ts";
import { Fault } from "../fault.ts";
import type { ManifestFile } from "../manifest-file.ts";
import { colors, print, printBodies, printJson, shown } from "../output.ts";

const examples = `
A manifest file, JSON or YAML:
  agent: planner
  manifest:
    scopes:
      expenses:
        hop_budget: 3
        tools:
          - ref: http:ledger/read
            data_classes: [finance.entries]

Examples:
  svc manifest lint manifests/*.yaml               offline; exit 1 for any fault
  svc manifest diff planner.yaml                   against the accepted manifest, and tools as they are now
  svc manifest submit planner.yaml
  svc manifest submit planner.yaml --override "reviewed in change 4711"
                                                   a person attests what discovery cannot confirm
  svc manifest show expenses --agent planner
  svc manifest report planner                      what discovery read, and how tools changed
`;

export const command = (): Command =>
  commandGroup("manifest", examples, [
    new Command("lint")
      .description("Check files without network.")
      .argument("<files...>")
      .option("--json", "one line a file: {file, agent, ok, faults}")
      .action(lint),
    withControlPlane(new Command("submit"))
      .description("Submit a manifest; a new agent is registered.")
      .argument("<file>")
      .option("--override <reason>", "attest what discovery cannot confirm")
      .option("--json", "one line: {agent_id, manifest_version, status}")
      .action(submit),
    withControlPlane(new Command("show"))
      .description("Show the accepted manifest that touches a scope.")
      .argument("<scope>")
      .option("--agent <name>", "this agent's")
      .option("--version <n>", "this version")
      .option("--json", "one line: {agent, version, status, attested_by, created_at, doc}")
      .action(show),
    withControlPlane(new Command("report"))
      .description("Show how an agent's newest version was reconciled, and how its MCP tools changed.")
      .argument("<agent>")
      .option("--json", "one line: the report")
      .action(report),
    withControlPlane(new Command("diff"))
      .description("Compare a file and its tools now with what was accepted; exit 1 if they differ.")
      .argument("<file>")
      .option("--json", "one line: {agent, differs, diff, status, definitions}")
      .action(diff),
  ]);

/** Loaded when a file is read: schemas and YAML would slow down the start of the other commands. */
async function read(path: string) {
  const { readManifestFile } = await import("../manifest-file.ts");
  return readManifestFile(path);
}

async function lint(files: readonly string[], { json }: { json?: boolean }): Promise<void> {
  for (const file of files) {
    const faults = await faultsOf(file);
    if (faults.length > 0) process.exitCode = 1;
    if (json) printJson({ file, ok: faults.length === 0, faults });
    else if (faults.length === 0) print(`${colors.green("✓")} ${file}`);
    else print(`${colors.red("✗")} ${file}\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  }
}

/** Checks a file alone; only the control plane knows the other manifests of its scopes. */
async function faultsOf(path: string): Promise<readonly string[]> {
  const { compile } = await import("@svc/core");
  try {
    const { file, understood } = await read(path);
    return [...understood.scopes].flatMap(([scope, declared]) => {
      const compiled = compile(scope, [{ agent: file.agent, manifestVersion: 1, declared }]);
      return compiled.ok ? [] : [`scope ${scope}: too many delegation paths for a policy`];
    });
  } catch (cause) {
    if (cause instanceof Fault && cause.exitCode === 1) return [cause.message];
    throw cause;
  }
}

async function submit(file: string, { override, json, ...flags }: ControlPlaneFlags & { override?: string }) {
  const { file: manifest, manifestJson } = await read(file);
  const submission = override === undefined ? manifest : { ...manifest, override: { reason: override } };
  const plane = openControlPlane(flags);
  const registered = await submitOrRegister(plane, submission, manifestJson);
  if (json) return printBodies("agentRegistration", [registered]);
  print(`${colors.green("✓")} ${shown(manifest.agent)} version ${registered.manifestVersion} is ${registered.status}`);
  const reconciled = await plane.call("admin", (svc) => svc.admin.reconciliation(registered.agentId));
  if (reconciled.manifestVersion !== registered.manifestVersion) return;
  // An override accepted what else differs.
  await printReport({ ...reconciled, diff: reconciled.diff.filter(({ kind }) => kind === "undeclarable") });
}

async function report(agent: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  const found = await openControlPlane(flags).call("admin", async ({ admin }) =>
    admin.reconciliation(await admin.agentId(agent)),
  );
  if (json) return printBodies("reconciliationReport", [found]);
  print(`${shown(agent)} version ${found.manifestVersion} is ${found.status}, checked ${found.checkedAt}`);
  await printReport(found);
}

/** How each source was read, how tools changed, and the remedies for what differs. */
async function printReport({ discovery, definitions, diff }: ManifestPreview): Promise<void> {
  const { discoveryText } = await import("@svc/core");
  for (const read of discovery) print(colors.dim(`  ${shown(discoveryText(read))}`));
  for (const change of definitions) await printChange(change);
  for (const { remedy } of diff) print(`${colors.yellow("!")} ${shown(remedy)}`);
}

/** What the server's definition of a tool was at the version before, and what it is now. */
async function printChange({ ref, changed, before, now }: ManifestPreview["definitions"][number]): Promise<void> {
  print(`${colors.yellow("!")} ${shown(ref)} changed since the version before: ${changed.join(", ")}`);
  if (before === null || now === null) return;
  const { createTwoFilesPatch } = await import("diff");
  print(colored(createTwoFilesPatch("before", "now", indented(JSON.parse(before)), indented(JSON.parse(now)))));
}

/** A further version of a known agent, else its first. */
async function submitOrRegister(
  plane: ControlPlane,
  { agent, manifest, override }: ManifestFile,
  manifestJson: string | undefined,
): Promise<AgentRegistration> {
  const submission = { manifest, manifestJson, overrideReason: override && (override.reason ?? null) };
  const known = await plane.call("admin", (svc) => svc.admin.agentId(agent)).catch(absentBy("agent_not_found"));
  return plane.call("admin", ({ admin }) =>
    known !== undefined
      ? admin.submitManifest({ agent, ...submission })
      : admin.registerAgent({ name: agent, ...submission }),
  );
}

type ShowFlags = ControlPlaneFlags & { readonly agent?: string; readonly version?: string };

async function show(scope: string, { agent, version, json, ...flags }: ShowFlags): Promise<void> {
  const query = { agent, ...(version !== undefined && { version: Number(version) }) };
  const accepted = await openControlPlane(flags).call("admin", (svc) => svc.admin.manifest(scope, query));
  if (json) return printBodies("manifestRead", [accepted]);
  const { attestedBy: by, status } = accepted;
  const attested = status !== "attested" || by === null ? "" : `, attested by ${shown(by)}`;
  print(
    colors.dim(`# ${shown(accepted.agent)} version ${accepted.version}, ${status}${attested}, ${accepted.createdAt}`),
  );
  print(JSON.stringify(accepted.doc, null, 2));
}

async function diff(file: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  const { agent, manifest } = (await read(file)).file;
  const plane = openControlPlane(flags);
  const accepted = await acceptedOf(plane, agent, Object.keys(manifest.scopes));
  const preview = await plane.call("admin", ({ admin }) => admin.previewManifest({ agent, manifest }));
  const { status, definitions } = preview;
  const before = accepted === undefined ? "" : indented(accepted.doc);
  const isOther = before !== indented(manifest);
  const { createTwoFilesPatch } = await import("diff");
  const named = accepted === undefined ? "nothing accepted" : `${agent} version ${accepted.version}`;
  const patch = isOther ? createTwoFilesPatch(named, file, before, indented(manifest)) : "";
  const differs = isOther || definitions.length > 0;
  if (differs) process.exitCode = 1;
  if (json) return printJson({ agent, differs, diff: patch, status, definitions });
  print(isOther ? colored(patch) : `${file} matches the accepted manifest.`);
  print(`Submitted now it would be ${status}.`);
  await printReport(preview);
}

/** The agent's newest accepted manifest of any of the scopes. */
async function acceptedOf(plane: ControlPlane, agent: string, scopes: readonly string[]) {
  const found: ManifestRead[] = [];
  for (const scope of scopes) {
    const reading = plane.call("admin", (svc) => svc.admin.manifest(scope, { agent }));
    const accepted = await reading.catch(absentBy("scope_not_found"));
    if (accepted !== undefined) found.push(accepted);
  }
  return found.sort((a, b) => b.version - a.version)[0];
}

const indented = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

const colored = (patch: string): string =>
  patch
    .split("\n")
    .map(shown)
    .map((line) => (line.startsWith("+") ? colors.green(line) : line.startsWith("-") ? colors.red(line) : line))
    .join("\n");
