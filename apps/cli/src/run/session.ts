import type { AuthzClient, HopContext, Session, SessionTarget } from "@svc/client";
import type { ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { shown } from "../output.ts";

export interface Lending {
  readonly scope: string;
  readonly user: string;
  /** Seconds; by default the control plane's. */
  readonly ttl?: number;
  /** Acts for the person. By default the scope's entry agent, where there is one alone. */
  readonly agent?: string | undefined;
  /** Space-separated; by default everything that may be delegated to the agent. */
  readonly dataClass?: string;
}

/** Consents and delegates to the agent. @returns what `SVC_PEP_SESSION_FILE` reads @throws {Fault} */
export async function lendSession(plane: ControlPlane, lending: Lending) {
  const { agent } = await plane.call("admin", (svc) => consentAndDelegate(svc, lending));
  return { session_id: agent.context.sessionId, token: agent.context.token };
}

/**
 * Consents, and takes hop 1 for the agent, so that its calls are the agent's own (docs/acting-as-the-agent.md#from-a-terminal). Closes the
 * client. @throws {Fault}
 */
export async function consentAndDelegate(svc: AuthzClient, { scope, user, ttl, ...lending }: Lending) {
  try {
    const session = await svc.consent({ scope, userSub: user, ttlSeconds: ttl });
    try {
      return { session, agent: await delegate(svc, session, lending) };
    } catch (cause) {
      await svc.admin.revokeSession(session.sessionId, { reason: "no delegation" }).catch(() => {});
      throw isDenied(cause) ? new Fault(`denied: ${cause.reason}`, `svc explain ${cause.actionId}`) : cause;
    }
  } finally {
    await svc.close();
  }
}

async function delegate(
  svc: AuthzClient,
  session: Session,
  { agent, dataClass }: Pick<Lending, "agent" | "dataClass">,
) {
  const human = session.context();
  const { target, dataClasses } = chosen(await entryAgentsOf(svc, human), agent, session.scope);
  const delegated = dataClass ?? dataClasses.join(" ");
  const [, context] = await svc.hop(human, { target, targetKind: "agent", dataClass: delegated });
  return { name: target, dataClass: delegated, context };
}

const isDenied = (cause: unknown): cause is Error & { readonly reason: string; readonly actionId: string } =>
  cause instanceof Error && cause.name === "PolicyDenied";

async function entryAgentsOf(svc: AuthzClient, human: HopContext): Promise<readonly SessionTarget[]> {
  const { everyRow } = await import("@svc/client");
  const agents: SessionTarget[] = [];
  for await (const target of everyRow((cursor) => svc.targets(human, { limit: 200, cursor }))) {
    if (target.targetKind === "agent") agents.push(target);
  }
  return agents;
}

/** @throws {Fault} that names the choices */
function chosen(agents: readonly SessionTarget[], name: string | undefined, scope: string): SessionTarget {
  const found = name === undefined ? agents : agents.filter(({ target }) => target === name);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const choices = agents.map(({ target }) => shown(target)).join(", ");
  if (choices === "") {
    throw new Fault(
      `no agent of scope "${shown(scope)}" may act for a person`,
      "svc agents list shows the registered agents: one of them must declare a tool there, or an agent downstream of it.",
    );
  }
  if (name !== undefined)
    throw new Fault(`${shown(name)} is no entry agent of scope "${shown(scope)}"`, `Choose one: --agent ${choices}.`);
  throw severalAgents(
    scope,
    agents.map(({ target }) => target),
  );
}

export const severalAgents = (scope: string, agents: readonly string[]): Fault =>
  new Fault(
    `scope "${shown(scope)}" has several entry agents`,
    `Choose one with --agent: ${agents.map(shown).join(", ")}.`,
  );
