import type { AgentIdentity } from "@svc/client";
import { type ManifestStatus, manifestStatuses } from "@svc/core/closed-sets";
import { Command, Option } from "commander";
import { commandGroup, confirm, type Revocation } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";

const examples = `
Examples:
  svc agents list
  svc agents list --status needs_review
  svc agents show planner          its identity, its blocks, and what it may call
  svc agents revoke planner --reason "its key leaked"
                                   permanent: every chain with this agent is denied
  svc agents identity planner      its key, and whether it is enrolled, quarantined or revoked
  svc agents lift-quarantine planner --reason "enrolled with the wrong key"
                                   then it may enroll again: svc enroll
`;

export const command = (): Command =>
  commandGroup("agents", examples, [
    withList(withControlPlane(new Command("list")), "one line an agent")
      .description("List agents by name.")
      .addOption(new Option("--status <status>", "of the latest manifest").choices([...manifestStatuses]))
      .action(list),
    withFormat(withControlPlane(new Command("show")), "one line: {identity, blocks, manifest}")
      .description("Show an agent: its identity, its blocks, and what its manifest in force declares.")
      .argument("<agent>")
      .action(async (name: string, flags) => (await import("../agents/show-agent.ts")).showAgent(name, flags)),
    withFormat(withControlPlane(new Command("revoke")), "one line")
      .description("Revoke an agent permanently.")
      .argument("<agent>")
      .option("--reason <text>", "kept in the record")
      .option("--yes", "do not ask")
      .action(revoke),
    withFormat(withControlPlane(new Command("identity")), "one line")
      .description("Show an agent's identity.")
      .argument("<agent>")
      .action(identity),
    withFormat(withControlPlane(new Command("lift-quarantine")), "one line")
      .description("End an agent's quarantine, as if it had never enrolled.")
      .argument("<agent>")
      .option("--reason <text>", "kept in the record")
      .action(liftQuarantine),
  ]);

async function list(flags: ControlPlaneFlags & ListFlags & { readonly status?: ManifestStatus }): Promise<void> {
  const plane = openControlPlane(flags);
  const { status } = flags;
  await printList(view, flags, () => plane.rows("admin", (svc, page) => svc.admin.agents({ status, ...page })));
}

const view: View<"agentListItem"> = {
  body: "agentListItem",
  none: "No agents match.",
  nameOf: (agent) => agent.name,
  columns: [
    { title: "name", text: (agent) => agent.name },
    { title: "manifest", text: (agent) => agent.latestManifestVersion },
    {
      title: "status",
      text: (agent) => agent.latestStatus,
      paint: ({ latestStatus }) => (acceptedStatuses.includes(latestStatus) ? colors.green : colors.yellow),
    },
    { title: "id", text: (agent) => agent.id, kind: "id", isWide: true },
  ],
};
const acceptedStatuses: readonly string[] = ["reconciled", "attested"];

async function identity(name: string, flags: ControlPlaneFlags & FormatFlags): Promise<void> {
  await printIdentity(await openControlPlane(flags).call("identity", (svc) => svc.identity.of(name)), flags);
}

type Lift = ControlPlaneFlags & FormatFlags & Pick<Revocation, "reason">;

async function liftQuarantine(name: string, { reason, ...flags }: Lift): Promise<void> {
  const plane = openControlPlane(flags);
  const id = await plane.call("admin", (svc) => svc.admin.agentId(name));
  await printIdentity(await plane.call("admin", (svc) => svc.identity.liftQuarantine(id, { reason })), flags);
}

async function printIdentity(found: AgentIdentity, flags: FormatFlags): Promise<void> {
  const format = formatOf(flags);
  if (isData(format)) return printBody("agentIdentity", found, format);
  const { agent, status, jwks } = found;
  const tint = status === "enrolled" ? colors.green : status === "none" ? colors.dim : colors.red;
  const keys = jwks.keys.map(({ kid }) => ` with key ${kid}`).join("");
  print(`${shown(agent)} is ${tint(status === "none" ? "not enrolled" : status)}${keys}`);
}

async function revoke(name: string, flags: ControlPlaneFlags & FormatFlags & Revocation): Promise<void> {
  const { reason, yes } = flags;
  const plane = openControlPlane(flags);
  const id = await plane.call("admin", (svc) => svc.admin.agentId(name));
  await confirm(`Revoke ${name} permanently? Every chain with this agent will be denied.`, yes);
  const revoked = await plane.call("admin", (svc) => svc.identity.revoke(id, { reason }));
  const format = formatOf(flags);
  if (isData(format)) return printBody("agentIdentity", revoked, format);
  print(`${shown(name)} is ${colors.red("revoked")}`);
}
