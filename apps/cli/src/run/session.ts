import {
  AuthzClient,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  everyRow,
  type HopContext,
  PolicyDenied,
} from "@svc/client";
import { bearerOf, unreachable } from "../control-plane.ts";
import { Fault } from "../fault.ts";

/** As `SVC_PEP_SESSION_FILE` reads it. */
export interface LentSession {
  readonly session_id: string;
  readonly token: string;
}

export interface Lending {
  readonly controlPlaneUrl: string;
  readonly scope: string;
  readonly user: string;
  /** The person delegates to it first; without one, calls are the person's own. */
  readonly agent: string | undefined;
  /** Space-separated; by default everything that may be delegated to the agent. */
  readonly dataClass: string | undefined;
}

/** Consents, and delegates to the agent if given. @throws {Fault} */
export async function lendSession(lending: Lending, environment: NodeJS.ProcessEnv): Promise<LentSession> {
  const { controlPlaneUrl, scope, user, agent } = lending;
  const client = new AuthzClient({ baseUrl: controlPlaneUrl, adminToken: bearerOf("admin", environment) });
  try {
    const session = await client.consent({ scope, userSub: user });
    const context = session.context();
    if (agent === undefined) return { session_id: context.sessionId, token: context.token };
    const dataClass = lending.dataClass ?? (await classesOf(client, context, agent, scope));
    const [, delegated] = await client.hop(context, { target: agent, targetKind: "agent", dataClass });
    return { session_id: delegated.sessionId, token: delegated.token };
  } catch (cause) {
    throw faultOf(cause, lending);
  } finally {
    await client.close();
  }
}

async function classesOf(client: AuthzClient, context: HopContext, agent: string, scope: string): Promise<string> {
  for await (const { target, dataClasses } of everyRow((cursor) => client.targets(context, { limit: 200, cursor }))) {
    if (target === agent) return dataClasses.join(" ");
  }
  throw new Fault(
    `${agent} is no entry agent of scope "${scope}"`,
    `svc manifest show ${scope} shows the entry agents.`,
  );
}

function faultOf(cause: unknown, { controlPlaneUrl, scope }: Lending): unknown {
  if (cause instanceof PolicyDenied) return new Fault(`denied: ${cause.reason}`, `svc explain ${cause.actionId}`);
  if (cause instanceof ControlPlaneRejected) {
    return new Fault("the bearer of the admin plane is refused", "Check SVC_ADMIN_TOKEN.", { exitCode: 2 });
  }
  if (cause instanceof ControlPlaneUnavailable) {
    return cause.status === null
      ? unreachable(controlPlaneUrl, cause)
      : new Fault(
          `consent to "${scope}" failed (${cause.code ?? cause.status})`,
          "svc agents list shows the registered agents.",
        );
  }
  return cause;
}
