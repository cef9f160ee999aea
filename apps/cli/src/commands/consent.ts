import { Command } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { print, printData, shown } from "../output.ts";
import type { Lending } from "../run/session.ts";
import { lifetime } from "./lifetime.ts";

const examples = `
The person delegates to the agent at once: the token is the agent's, and its calls are recorded as the agent's. It lives for
60 seconds, and the enforcement point or client that first uses it renews it until the session ends. Without --agent the
token is the root grant: keep it with what delegates, never with an agent.

Examples:
  svc consent --scope expenses --user ada --agent planner
  svc consent --scope expenses --user ada --agent planner --data-class "finance.entries notes" --ttl 900
  svc consent --scope expenses --user ada --agent planner --json > session.json
                                   for SVC_PEP_SESSION_FILE; keep it secret
`;

type Flags = ControlPlaneFlags & FormatFlags & Lending;

export const command = (): Command =>
  withFormat(
    withControlPlane(new Command("consent")),
    "one line: {session_id, token, agent, scope, policy_version, hop_budget, expires_at, ...}",
  )
    .requiredOption("--scope <scope>", "the scope")
    .requiredOption("--user <sub>", "the person who consents")
    .option("--agent <name>", "delegate to this entry agent at once, and print its token")
    .option("--data-class <classes>", "data classes to delegate, separated by spaces (default: all)")
    .option("--ttl <seconds>", "lifetime, 60 to 86400 (default: the control plane's)", lifetime)
    .addHelpText("after", examples)
    .action(consent);

async function consent(flags: Flags): Promise<void> {
  const plane = openControlPlane(flags);
  if (flags.agent !== undefined) await (await import("../run/entry-agent.ts")).requireEntryAgent(plane, flags);
  const { session, agent } = await plane.call("admin", async (svc) => {
    if (flags.agent !== undefined) return (await import("../run/session.ts")).consentAndDelegate(svc, flags);
    const { scope, user, ttl } = flags;
    return { session: await svc.consent({ scope, userSub: user, ttlSeconds: ttl }), agent: undefined };
  });
  const token = agent?.context.token ?? session.rootGrant;
  const format = formatOf(flags);
  if (isData(format)) {
    const { consentResponse, toWire } = await import("@svc/core");
    const { root_grant: _, ...facts } = toWire(consentResponse, session);
    return printData({ ...facts, ...(agent && { agent: agent.name, data_class: agent.dataClass }), token }, format);
  }
  print(`${shown(flags.user)} consented to "${shown(flags.scope)}" until ${session.expiresAt}`);
  if (agent !== undefined) print(`${shown(agent.name)} may act for ${shown(agent.dataClass)}`);
  print(`session  ${session.sessionId}`);
  print(`token    ${token}`);
}
