import type { SessionSummary } from "@svc/client";
import { type SessionStatus, sessionStatuses } from "@svc/core/closed-sets";
import { Command, Option } from "commander";
import { commandGroup, confirm, type Revocation } from "../command-group.ts";
import { type ControlPlaneFlags, collected, openControlPlane, withControlPlane } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { colors, print, printBodies, printJson, shown, table } from "../output.ts";

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
  readonly status?: SessionStatus;
}

const filtered = (command: Command): Command =>
  command
    .option("--user <sub>", "of one person")
    .option("--scope <scope>", "of one scope")
    .option("--agent <name>", "with a delegation to this agent");

export const command = (): Command =>
  commandGroup("sessions", examples, [
    filtered(withControlPlane(new Command("list")))
      .description("List sessions, newest first.")
      .addOption(new Option("--status <status>").choices([...sessionStatuses]))
      .option("--json", "one line of JSON a session")
      .action(list),
    withControlPlane(new Command("show"))
      .description("Show one session, with its taint marks.")
      .argument("<session_id>")
      .option("--json", "one line of JSON")
      .action(show),
    filtered(withControlPlane(new Command("revoke")))
      .description("Revoke one session, or every running one that matches.")
      .argument("[session_id]")
      .option("--reason <text>", "kept in the record")
      .option("--yes", "do not ask")
      .option("--json", "one line of JSON: the session, or {revoked}")
      .action(revoke),
  ]);

async function list({ json, ...flags }: ControlPlaneFlags & Filters): Promise<void> {
  const { user: userSub, scope, agent, status } = flags;
  const filters = { userSub, scope, agent, status };
  const rows = openControlPlane(flags).rows("audit", (svc, page) => svc.audit.sessions({ ...filters, ...page }));
  if (json) return printBodies("sessionSummary", rows);
  const all = await collected(rows);
  if (all.length === 0) return print("No sessions match.");
  print(table(["consented", "status", "user", "scope", "session"], all.map(cells)));
}

const statusColors = { active: colors.green, expired: colors.dim, revoked: colors.red };

const cells = (row: SessionSummary): readonly string[] => [
  colors.dim(row.consentedAt),
  statusColors[row.status](row.status),
  shown(row.userSub),
  shown(row.scope),
  row.sessionId,
];

async function show(sessionId: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  const session = await openControlPlane(flags).call("audit", (svc) => svc.audit.session(sessionId));
  if (json) return printBodies("sessionRead", [session]);
  print(`${statusColors[session.status](session.status)}  ${shown(session.userSub)} in "${shown(session.scope)}"`);
  print(`consented  ${session.consentedAt} by ${shown(session.consentedBy)}, until ${session.expiresAt}`);
  print(`policy     version ${session.policyVersion}, at most ${session.hopBudget} hops`);
  if (session.revokedAt !== null) {
    const { revokedAt, revokedBy, revokedReason } = session;
    print(`revoked    ${revokedAt} by ${shown(revokedBy ?? "")}: ${shown(revokedReason ?? "no reason given")}`);
  }
  for (const { agent, source, ts, enforced } of session.taintMarks) {
    const marked = `${agent === null ? "the person" : shown(agent)} by ${shown(source)}, ${ts}`;
    print(`${colors.yellow("tainted")}    ${marked}${enforced ? "" : ", for observed decisions only"}`);
  }
}

async function revoke(sessionId: string | undefined, flags: ControlPlaneFlags & Filters & Revocation): Promise<void> {
  const { user, scope, agent, reason, yes, json } = flags;
  const named = Object.entries({ user, scope, agent }).filter(([, value]) => value !== undefined);
  const isBulk = named.length > 0;
  if (isBulk === (sessionId !== undefined)) {
    throw notTried("name either a session or a filter", "Name a session id, or --user, --scope or --agent.");
  }
  const plane = openControlPlane(flags);
  if (sessionId !== undefined) {
    const session = await plane.call("admin", (svc) => svc.admin.revokeSession(sessionId, { reason }));
    if (json) return printBodies("sessionRead", [session]);
    return print(`${session.sessionId} is ${statusColors[session.status](session.status)}`);
  }
  await confirm(`Revoke every running session of ${named.map((filter) => filter.join(" ")).join(", ")}?`, yes);
  const filters = { userSub: user, scope, agent, reason };
  const revoked = await plane.call("admin", (svc) => svc.admin.revokeSessions(filters));
  if (json) printJson({ revoked });
  else print(`${revoked} revoked`);
}
