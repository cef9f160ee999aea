import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type InitFlags, withSources } from "../init/flags.ts";
import { newestReport, versionOf } from "../manifest/in-force.ts";
import { colors, print, printBodies, printJson, shown } from "../output.ts";

const examples = `
A manifest file, JSON or YAML, as show prints it and lint, diff and submit read it (- is standard input):
  agent: planner
  manifest:
    scopes:
      expenses:
        hop_budget: 3
        tools:
          - ref: http:ledger/read
            data_classes: [finance.entries]

Examples:
  svc manifest init --agent clerk --openapi shop=openapi.yaml --http shop=https://shop.internal --manifest clerk-2.yaml
  svc manifest schema > manifest.schema.json
  svc manifest lint manifests/*.yaml               offline; exit 1 for any fault
  svc manifest diff planner.yaml                   against the accepted manifest, and tools as they are now
  svc manifest submit planner.yaml
  svc manifest submit planner.yaml --override "reviewed in change 4711"
                                                   a person attests what discovery cannot confirm
  svc manifest approve planner --reason "reviewed in change 4712"
                                                   the same for the newest version, which needs review
  svc manifest show expenses --agent planner > planner.yaml
  svc manifest report planner                      what discovery read, and how tools changed
`;

const readFile = async (path: string) => (await import("../manifest-file.ts")).readManifestFile(path);

export const command = (): Command =>
  commandGroup("manifest", examples, [
    withSources(new Command("init"))
      .description("Write a manifest for one agent, from the same sources as svc init.")
      .option("--json", "one line: {agent, scope, files, sources, review, unread, next}")
      .action(init),
    new Command("schema").description("Print the JSON Schema of the file, for editors.").action(schema),
    new Command("lint")
      .description("Check files without network.")
      .argument("<files...>")
      .option("--json", "one line a file: {file, agent, ok, faults}")
      .action(lint),
    withControlPlane(new Command("submit"))
      .description("Submit a manifest; a new agent is registered. The document that is in force is left unchanged.")
      .argument("<file>")
      .option("--override <reason>", "attest what discovery cannot confirm")
      .option("--json", "one line: {agent_id, manifest_version, status, unchanged, in_force}")
      .action(submit),
    withControlPlane(new Command("approve"))
      .description(
        "Accept an agent's newest version, which needs review: a person attests what discovery cannot confirm.",
      )
      .argument("<agent>")
      .requiredOption("--reason <text>", "why it can be trusted; kept in the record")
      .option("--yes", "without a question")
      .option("--json", "one line: {agent_id, manifest_version, status, unchanged, in_force}")
      .action(approve),
    withControlPlane(new Command("show"))
      .description("Show the accepted manifest that touches a scope, as a file that submit reads.")
      .argument("<scope>")
      .option("--agent <name>", "this agent's")
      .option("--version <n>", "this version")
      .option("--json", "one line: {agent, version, status, attested_by, created_at, manifest}")
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

async function init(flags: InitFlags): Promise<void> {
  const { runInit } = await import("../init/run-init.ts");
  await runInit({ ...flags, command: [] });
}

async function schema(): Promise<void> {
  const { manifestSchema } = await import("@svc/core");
  print(JSON.stringify(manifestSchema(), null, 2));
}

async function lint(files: readonly string[], { json }: { json?: boolean }): Promise<void> {
  const { faultsOf } = await import("../manifest/lint.ts");
  for (const file of files) {
    const { agent, faults } = await faultsOf(file);
    if (faults.length > 0) process.exitCode = 1;
    if (json) printJson({ file, agent, ok: faults.length === 0, faults });
    else if (faults.length === 0) print(`${colors.green("✓")} ${file}`);
    else print(`${colors.red("✗")} ${file}\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  }
}

async function submit(path: string, { override, json, ...flags }: ControlPlaneFlags & { override?: string }) {
  const { file, manifestJson } = await readFile(path);
  const submission = { ...file, manifestJson, ...(override !== undefined && { override: { reason: override } }) };
  const { submitAndReport } = await import("../manifest/accept.ts");
  await submitAndReport(openControlPlane(flags), submission, json === true);
}

type ApproveFlags = ControlPlaneFlags & { readonly reason: string; readonly yes?: boolean };

async function approve(agent: string, { reason, yes, json, ...flags }: ApproveFlags): Promise<void> {
  const { approveNewest } = await import("../manifest/approve.ts");
  await approveNewest(openControlPlane(flags), agent, { reason, yes, json: json === true });
}

async function report(agent: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  const found = await openControlPlane(flags).call("admin", async ({ admin }) =>
    admin.reconciliation(await admin.agentId(agent)),
  );
  if (json) return printBodies("reconciliationReport", [found]);
  print(`${shown(agent)} version ${found.manifestVersion} is ${found.status}, checked ${found.checkedAt}`);
  const { printReport } = await import("../manifest/printed.ts");
  await printReport(found);
  const { inForceText } = await import("../manifest/in-force.ts");
  print(inForceText(agent, found.inForce));
}

type ShowFlags = ControlPlaneFlags & { readonly agent?: string; readonly version?: string };

async function show(scope: string, { agent: named, version, json, ...flags }: ShowFlags): Promise<void> {
  const query = { agent: named, ...(version !== undefined && { version: Number(version) }) };
  const stored = await openControlPlane(flags).call("admin", (svc) => svc.admin.manifest(scope, query));
  const { agent, status, attestedBy: by, createdAt, docJson } = stored;
  if (json) {
    const { withMemberText } = await import("@svc/tokens");
    const facts = { agent, version: stored.version, status, attested_by: by, created_at: createdAt };
    return print(withMemberText(facts, "manifest", docJson));
  }
  const { envelopeOf } = await import("../manifest/envelope.ts");
  const { text, takesComments } = envelopeOf(agent, docJson);
  const attested = status !== "attested" || by === null ? "" : `, attested by ${shown(by)}`;
  const facts = `# ${shown(agent)} version ${stored.version}, ${status}${attested}, ${createdAt}`;
  if (takesComments) print(colors.dim(facts));
  else process.stderr.write(`${colors.dim(facts)}\n`);
  process.stdout.write(text);
}

async function diff(path: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  const { file, manifestJson } = await readFile(path);
  const { agent, manifest } = file;
  const plane = openControlPlane(flags);
  const inForce = (await newestReport(plane, agent))?.inForce;
  const accepted = inForce ? await versionOf(plane, agent, inForce) : undefined;
  const { preview } = await import("../manifest/submit.ts");
  const found = await preview(plane, { ...file, manifestJson });
  const { status, definitions } = found;
  const { colored, indented, patchOf, printReport } = await import("../manifest/printed.ts");
  const isOther = indented(accepted?.doc) !== indented(manifest);
  const named = accepted === undefined ? "nothing accepted" : `${agent} version ${accepted.version}`;
  const patch = isOther ? await patchOf(named, accepted?.doc, path, manifest) : "";
  const differs = isOther || definitions.length > 0;
  if (differs) process.exitCode = 1;
  if (json) return printJson({ agent, differs, diff: patch, status, definitions });
  print(isOther ? colored(patch) : `${path} matches the accepted manifest.`);
  print(`Submitted now it would be ${status}.`);
  await printReport(found);
}
