import { type SessionStatus, sessionStatuses } from "@svc/core/closed-sets";
import { Command, Option } from "commander";
import { commandGroup, confirm, type Revocation } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, printData, printText, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { wholeSessionId } from "../whole-id.ts";

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
    withList(filtered(withControlPlane(new Command("list"))), "one line a session", 50)
      .description("List sessions, newest first.")
      .addOption(new Option("--status <status>").choices([...sessionStatuses]))
      .action(list),
    withFormat(withControlPlane(new Command("show")), "one line")
      .description("Show one session, with its taint marks.")
      .argument("<session_id>", "or the end of it")
      .action(show),
    withFormat(filtered(withControlPlane(new Command("revoke"))), "the session, or {revoked}")
      .description("Revoke one session, or every running one that matches.")
      .argument("[session_id]", "or the end of it")
      .option("--reason <text>", "kept in the record")
      .option("--yes", "do not ask")
      .action(revoke),
  ]);

async function list(flags: ControlPlaneFlags & Filters & ListFlags): Promise<void> {
  const { user: userSub, scope, agent, status } = flags;
  const filters = { userSub, scope, agent, status };
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.sessions({ ...filters, ...page })));
}

const statusColors = { active: colors.green, expired: colors.dim, revoked: colors.red };

const view: View<"sessionSummary"> = {
  body: "sessionSummary",
  none: "No sessions match.",
  nameOf: (row) => row.sessionId,
  columns: [
    { title: "session", text: (row) => row.sessionId, kind: "id" },
    { title: "age", text: (row) => row.consentedAt, kind: "time" },
    { title: "status", text: (row) => row.status, paint: (row) => statusColors[row.status] },
    { title: "user", text: (row) => row.userSub },
    { title: "scope", text: (row) => row.scope },
    { title: "expires", text: (row) => row.expiresAt, kind: "time" },
    { title: "policy", text: (row) => row.policyVersion, isWide: true },
    { title: "consented by", text: (row) => row.consentedBy, isWide: true },
    { title: "reason", text: (row) => row.revokedReason, isWide: true },
  ],
};

async function show(id: string, flags: ControlPlaneFlags & FormatFlags): Promise<void> {
  const plane = openControlPlane(flags);
  const sessionId = await wholeSessionId(plane, id);
  const session = await plane.call("audit", (svc) => svc.audit.session(sessionId));
  const format = formatOf(flags);
  if (isData(format)) return printBody("sessionRead", session, format);
  print(`${statusColors[session.status](session.status)}  ${shown(session.userSub)} in "${shown(session.scope)}"`);
  print(`consented  ${session.consentedAt} by ${shown(session.consentedBy)}, until ${session.expiresAt}`);
  print(`policy     version ${session.policyVersion}, at most ${session.hopBudget} hops`);
  if (session.revokedAt !== null) {
    const { revokedAt, revokedBy, revokedReason } = session;
    printText(`revoked    ${revokedAt} by ${shown(revokedBy ?? "")}: ${shown(revokedReason ?? "no reason given")}`);
  }
  for (const { agent, source, ts, enforced } of session.taintMarks) {
    const marked = `${agent === null ? "the person" : shown(agent)} by ${shown(source)}, ${ts}`;
    printText(`${colors.yellow("tainted")}    ${marked}${enforced ? "" : ", for observed decisions only"}`);
  }
}

async function revoke(id: string | undefined, flags: ControlPlaneFlags & Filters & Revocation & FormatFlags) {
  const { user, scope, agent, reason, yes } = flags;
  const named = Object.entries({ user, scope, agent }).filter(([, value]) => value !== undefined);
  const isBulk = named.length > 0;
  if (isBulk === (id !== undefined)) {
    throw notTried("name either a session or a filter", "Name a session id, or --user, --scope or --agent.");
  }
  const plane = openControlPlane(flags);
  const format = formatOf(flags);
  if (id !== undefined) {
    const sessionId = await wholeSessionId(plane, id);
    const session = await plane.call("admin", (svc) => svc.admin.revokeSession(sessionId, { reason }));
    if (isData(format)) return printBody("sessionRead", session, format);
    return print(`${session.sessionId} is ${statusColors[session.status](session.status)}`);
  }
  await confirm(`Revoke every running session of ${named.map((filter) => filter.join(" ")).join(", ")}?`, yes);
  const filters = { userSub: user, scope, agent, reason };
  const revoked = await plane.call("admin", (svc) => svc.admin.revokeSessions(filters));
  if (isData(format)) await printData({ revoked }, format);
  else print(`${revoked} revoked`);
}
