import { Command, Option } from "commander";
import { colors } from "../colors.ts";
import { confirm } from "../confirm.ts";
import { type ControlPlaneFlags, collected, openControlPlane, type Query, withControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { print, printJson, shown, table } from "../output.ts";

const examples = `
Examples:
  svc sessions list --status active --agent planner
  svc sessions show "$SESSION_ID"
  svc sessions revoke "$SESSION_ID" --reason "the laptop was lost"
  svc sessions revoke --user ada --scope expenses --yes
                                   every running session that matches
`;

interface Filters {
  readonly user?: string;
  readonly scope?: string;
  readonly agent?: string;
  readonly status?: string;
}

interface Session {
  readonly session_id: string;
  readonly status: "active" | "expired" | "revoked";
  readonly scope: string;
  readonly user_sub: string;
  readonly policy_version: number;
  readonly hop_budget: number;
  readonly consented_by: string;
  readonly consented_at: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
  readonly revoked_reason: string | null;
}

interface SessionRead extends Session {
  readonly taint_marks: readonly { readonly agent: string | null; readonly source: string; readonly ts: string }[];
}

const filtered = (command: Command): Command =>
  command
    .option("--user <sub>", "of one person")
    .option("--scope <scope>", "of one scope")
    .option("--agent <name>", "in which this agent was delegated to");

export const sessionsCommand = (): Command =>
  new Command("sessions")
    .description("What people consented to, and how to end it.")
    .addHelpText("after", examples)
    .addCommand(
      filtered(withControlPlane(new Command("list")))
        .description("List sessions, newest first.")
        .addOption(new Option("--status <status>").choices(["active", "expired", "revoked"]))
        .option("--json", "one line of JSON a session")
        .addHelpText("after", examples)
        .action(list),
    )
    .addCommand(
      withControlPlane(new Command("show"))
        .description("Show one session, with its taint marks.")
        .argument("<session_id>")
        .option("--json", "one line of JSON")
        .addHelpText("after", examples)
        .action(show),
    )
    .addCommand(
      filtered(withControlPlane(new Command("revoke")))
        .description("End one session, or every running one that matches.")
        .argument("[session_id]")
        .option("--reason <text>", "kept in the record")
        .option("--yes", "do not ask")
        .option("--json", "one line of JSON: the session, or {revoked}")
        .addHelpText("after", examples)
        .action(revoke),
    );

const toQuery = ({ user, scope, agent, status }: Filters): Query => ({ user_sub: user, scope, agent, status });

async function list({ json, ...flags }: ControlPlaneFlags & Filters & { json?: boolean }): Promise<void> {
  const rows = openControlPlane(flags).rows<Session>("audit", "/v1/sessions", toQuery(flags));
  if (json) {
    for await (const row of rows) printJson(row);
    return;
  }
  const all = await collected(rows);
  if (all.length === 0) return print("There is no session that matches.");
  print(table(["consented", "status", "user", "scope", "session"], all.map(cells)));
}

const statusColors = { active: colors.green, expired: colors.dim, revoked: colors.red };

const cells = (row: Session): readonly string[] => [
  colors.dim(row.consented_at),
  statusColors[row.status](row.status),
  shown(row.user_sub),
  shown(row.scope),
  row.session_id,
];

async function show(sessionId: string, { json, ...flags }: ControlPlaneFlags & { json?: boolean }): Promise<void> {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
  const session = await openControlPlane(flags).ask<SessionRead>("audit", path);
  if (json) return printJson(session);
  print(`${statusColors[session.status](session.status)}  ${shown(session.user_sub)} in "${shown(session.scope)}"`);
  print(`consented  ${session.consented_at} by ${shown(session.consented_by)}, until ${session.expires_at}`);
  print(`policy     version ${session.policy_version}, at most ${session.hop_budget} hops`);
  if (session.revoked_at !== null) {
    print(
      `revoked    ${session.revoked_at} by ${shown(session.revoked_by ?? "")}: ${shown(session.revoked_reason ?? "no reason given")}`,
    );
  }
  for (const { agent, source, ts } of session.taint_marks) {
    print(`${colors.yellow("tainted")}    ${agent === null ? "the human" : shown(agent)} by ${shown(source)}, ${ts}`);
  }
}

interface RevokeFlags extends ControlPlaneFlags, Filters {
  readonly reason?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

async function revoke(sessionId: string | undefined, flags: RevokeFlags): Promise<void> {
  const { reason, yes, json } = flags;
  const filters = Object.fromEntries(Object.entries(toQuery(flags)).filter(([, value]) => value !== undefined));
  const isBulk = Object.keys(filters).length > 0;
  if (isBulk === (sessionId !== undefined)) {
    throw new Fault("one session, or a filter", "Name a session id, or --user, --scope or --agent.", { exitCode: 2 });
  }
  const plane = openControlPlane(flags);
  const why = reason === undefined ? {} : { reason };
  if (sessionId !== undefined) {
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}/revoke`;
    const session = await plane.ask<SessionRead>("admin", path, { json: why });
    if (json) printJson(session);
    else print(`${session.session_id} is ${statusColors[session.status](session.status)}`);
    return;
  }
  await confirm(
    `End every running session of ${Object.entries(filters)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ")}?`,
    yes,
  );
  const { revoked } = await plane.ask<{ revoked: number }>("admin", "/v1/sessions/revoke", {
    json: { ...filters, ...why },
  });
  if (json) printJson({ revoked });
  else print(`${revoked} ended`);
}
