import { Command, Option } from "commander";
import { colors } from "../colors.ts";
import { confirm } from "../confirm.ts";
import { type ControlPlaneFlags, collected, openControlPlane, withControlPlane } from "../control-plane.ts";
import { print, printJson, shown, table } from "../output.ts";

const examples = `
Examples:
  svc agents list
  svc agents list --status needs_review
  svc agents revoke planner --reason "its key leaked"
                                   for good: no chain with it in it is admitted any more
`;

interface Agent {
  readonly id: string;
  readonly name: string;
  readonly latest_manifest_version: number;
  readonly latest_status: string;
}

export const agentsCommand = (): Command =>
  new Command("agents")
    .description("The agents that are registered, and how to revoke one.")
    .addHelpText("after", examples)
    .addCommand(
      withControlPlane(new Command("list"))
        .description("List agents by name.")
        .addOption(
          new Option("--status <status>", "of the latest manifest").choices([
            "reconciled",
            "attested",
            "needs_review",
            "rejected",
          ]),
        )
        .option("--json", "one line of JSON an agent")
        .addHelpText("after", examples)
        .action(list),
    )
    .addCommand(
      withControlPlane(new Command("revoke"))
        .description("Revoke an agent for good.")
        .argument("<name>")
        .option("--reason <text>", "kept in the record")
        .option("--yes", "do not ask")
        .option("--json", "one line of JSON")
        .addHelpText("after", examples)
        .action(revoke),
    );

async function list({
  status,
  json,
  ...flags
}: ControlPlaneFlags & { status?: string; json?: boolean }): Promise<void> {
  const agents = await collected(openControlPlane(flags).rows<Agent>("admin", "/v1/agents", { status }));
  if (json) return agents.forEach(printJson);
  if (agents.length === 0) return print("No agent is registered that matches.");
  const cells = ({ id, name, latest_manifest_version: version, latest_status: latest }: Agent) => [
    shown(name),
    String(version),
    latest === "reconciled" || latest === "attested" ? colors.green(latest) : colors.yellow(latest),
    colors.dim(id),
  ];
  print(table(["name", "manifest", "status", "id"], agents.map(cells)));
}

interface RevokeFlags extends ControlPlaneFlags {
  readonly reason?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

async function revoke(name: string, { reason, yes, json, ...flags }: RevokeFlags): Promise<void> {
  const plane = openControlPlane(flags);
  const { agent_id: id } = await plane.ask<{ agent_id: string }>(
    "admin",
    `/v1/agents/resolve?${new URLSearchParams({ name })}`,
  );
  await confirm(`Revoke ${name} for good? No chain with it in it will be admitted any more.`, yes);
  const revoked = await plane.ask<object>("admin", `/v1/agents/${id}/revoke`, {
    json: reason === undefined ? {} : { reason },
  });
  if (json) printJson(revoked);
  else print(`${shown(name)} is ${colors.red("revoked")}`);
}
