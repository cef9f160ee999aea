import {
  AuthzClient,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  everyRow,
  type HopContext,
  PolicyDenied,
} from "@svc/client";
import { bearerOf, unreachable } from "../control-plane.ts";
import { Fault, notTried } from "../fault.ts";

export interface Lending {
  readonly scope: string;
  readonly user: string;
  /** The person delegates to it first; without one, calls are the person's own. */
  readonly agent?: string;
  /** Space-separated; by default everything that may be delegated to the agent. */
  readonly dataClass?: string;
}

/** Consents, and delegates to the agent if given. @returns what `SVC_PEP_SESSION_FILE` reads @throws {Fault} */
export async function lendSession(controlPlaneUrl: string, { scope, user, agent, ...lending }: Lending) {
  const client = new AuthzClient({ baseUrl: controlPlaneUrl, adminToken: bearerOf("admin") });
  try {
    const session = await client.consent({ scope, userSub: user });
    const context = session.context();
    if (agent === undefined) return { session_id: context.sessionId, token: context.token };
    const dataClass = lending.dataClass ?? (await classesOf(client, context, agent, scope));
    const [, delegated] = await client.hop(context, { target: agent, targetKind: "agent", dataClass });
    return { session_id: delegated.sessionId, token: delegated.token };
  } catch (cause) {
    throw faultOf(cause, controlPlaneUrl, scope);
  } finally {
    await client.close();
  }
}

async function classesOf(client: AuthzClient, context: HopContext, agent: string, scope: string): Promise<string> {
  for await (const { target, dataClasses } of everyRow((cursor) => client.targets(context, { limit: 200, cursor }))) {
    if (target === agent) return dataClasses.join(" ");
  }
  const advice = `svc manifest show ${scope} shows the entry agents.`;
  throw new Fault(`${agent} is no entry agent of scope "${scope}"`, advice);
}

function faultOf(cause: unknown, controlPlaneUrl: string, scope: string): unknown {
  if (cause instanceof PolicyDenied) return new Fault(`denied: ${cause.reason}`, `svc explain ${cause.actionId}`);
  if (cause instanceof ControlPlaneRejected) {
    return notTried("the bearer of the admin plane is refused", "Check SVC_ADMIN_TOKEN.");
  }
  if (!(cause instanceof ControlPlaneUnavailable)) return cause;
  if (cause.status === null) return unreachable(controlPlaneUrl, cause);
  const failure = `consent to "${scope}" failed (${cause.code ?? cause.status})`;
  return new Fault(failure, "svc agents list shows the registered agents.");
}
