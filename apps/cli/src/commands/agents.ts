import type { AgentListItem } from "@svc/client";
import { type ManifestStatus, manifestStatuses } from "@svc/core/closed-sets";
import { Command, Option } from "commander";
import { commandGroup, confirm, type Revocation } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { colors, print, printBodies, shown, table } from "../output.ts";

const examples = `
Examples:
  svc agents list
  svc agents list --status needs_review
  svc agents revoke planner --reason "its key leaked"
                                   permanent: every chain with this agent is denied
`;

export const command = (): Command =>
  commandGroup("agents", examples, [
    withControlPlane(new Command("list"))
      .description("List agents by name.")
      .addOption(new Option("--status <status>", "of the latest manifest").choices([...manifestStatuses]))
      .option("--json", "one line of JSON an agent")
      .action(list),
    withControlPlane(new Command("revoke"))
      .description("Revoke an agent permanently.")
      .argument("<name>")
      .option("--reason <text>", "kept in the record")
      .option("--yes", "do not ask")
      .option("--json", "one line of JSON")
      .action(revoke),
  ]);

async function list({ status, json, ...flags }: ControlPlaneFlags & { status?: ManifestStatus }): Promise<void> {
  const agents = await openControlPlane(flags).all("admin", (svc, page) => svc.admin.agents({ status, ...page }));
  if (json) return printBodies("agentListItem", agents);
  if (agents.length === 0) return print("No agents match.");
  const cells = ({ id, name, latestManifestVersion: version, latestStatus: latest }: AgentListItem) => [
    shown(name),
    String(version),
    latest === "reconciled" || latest === "attested" ? colors.green(latest) : colors.yellow(latest),
    colors.dim(id),
  ];
  print(table(["name", "manifest", "status", "id"], agents.map(cells)));
}

async function revoke(name: string, { reason, yes, json, ...flags }: ControlPlaneFlags & Revocation): Promise<void> {
  const plane = openControlPlane(flags);
  const id = await plane.call("admin", (svc) => svc.admin.agentId(name));
  await confirm(`Revoke ${name} permanently? Every chain with this agent will be denied.`, yes);
  const revoked = await plane.call("admin", (svc) => svc.identity.revoke(id, { reason }));
  if (json) return printBodies("agentIdentity", [revoked]);
  print(`${shown(name)} is ${colors.red("revoked")}`);
}
