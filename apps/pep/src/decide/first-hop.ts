import type { CamelCased, SessionBeside } from "@svc/core";
import { type HopCredential, type HopFailure, type HopPorts, takeHop, unpooled } from "@svc/hop";

/** A session, and what hop 1 of it is taken with. */
export type GrantedSession = CamelCased<Omit<SessionBeside, "expires_at">>;

/**
 * Hop 1 of a session, for the entry agent that acts in it: the agent's token serves its calls from then on. The root
 * grant, which is this session's and this hop's alone, is spent.
 */
export async function takeFirstHop(
  { assertIdentity: _, ...hop }: HopPorts,
  { sessionId, agent, dataClass, rootGrant }: GrantedSession,
): Promise<{ readonly kind: "credential"; readonly credential: HopCredential } | HopFailure> {
  const ports: HopPorts = { ...hop, pool: unpooled };
  const call = { target: agent, targetKind: "agent", dataClass } as const;
  const first = { credential: { sessionId, token: rootGrant }, call, enforced: true, bodySettled: true };
  const result = await takeHop<never>(ports, first, async () => ({ kind: "ready" }));
  if (result.kind === "body_refused") throw new Error("hop 1 has no body");
  if (result.kind !== "taken") return result;
  return { kind: "credential", credential: { sessionId, token: result.token.accessToken } };
}
