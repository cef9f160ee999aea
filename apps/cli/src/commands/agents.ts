import type { AgentIdentity, AgentListItem } from "@svc/client";
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
  svc agents identity planner      its key, and whether it is enrolled, quarantined or revoked
  svc agents lift-quarantine planner --reason "enrolled with the wrong key"
                                   then it may enroll again: svc enroll
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
    withControlPlane(new Command("identity"))
      .description("Show an agent's identity.")
      .argument("<name>")
      .option("--json", "one line of JSON")
      .action(identity),
    withControlPlane(new Command("lift-quarantine"))
      .description("End an agent's quarantine, as if it had never enrolled.")
      .argument("<name>")
      .option("--reason <text>", "kept in the record")
      .option("--json", "one line of JSON")
      .action(liftQuarantine),
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

async function identity(name: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  await printIdentity(await openControlPlane(flags).call("identity", (svc) => svc.identity.of(name)), json);
}

type Lift = ControlPlaneFlags & Pick<Revocation, "reason">;

async function liftQuarantine(name: string, { reason, json, ...flags }: Lift): Promise<void> {
  const plane = openControlPlane(flags);
  const id = await plane.call("admin", (svc) => svc.admin.agentId(name));
  await printIdentity(await plane.call("admin", (svc) => svc.identity.liftQuarantine(id, { reason })), json);
}

async function printIdentity(found: AgentIdentity, json: boolean | undefined): Promise<void> {
  if (json) return printBodies("agentIdentity", [found]);
  const { agent, status, jwks } = found;
  const tint = status === "enrolled" ? colors.green : status === "none" ? colors.dim : colors.red;
  const keys = jwks.keys.map(({ kid }) => ` with key ${kid}`).join("");
  print(`${shown(agent)} is ${tint(status === "none" ? "not enrolled" : status)}${keys}`);
}

async function revoke(name: string, { reason, yes, json, ...flags }: ControlPlaneFlags & Revocation): Promise<void> {
  const plane = openControlPlane(flags);
  const id = await plane.call("admin", (svc) => svc.admin.agentId(name));
  await confirm(`Revoke ${name} permanently? Every chain with this agent will be denied.`, yes);
  const revoked = await plane.call("admin", (svc) => svc.identity.revoke(id, { reason }));
  if (json) return printBodies("agentIdentity", [revoked]);
  print(`${shown(name)} is ${colors.red("revoked")}`);
}
