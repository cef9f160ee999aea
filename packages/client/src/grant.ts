import type { Taint } from "@svc/core";
import type { HopTaken } from "@svc/hop";

/** The result of one hop: its narrowed token and its companions (docs/reference/client.md#value-objects). */
export interface Grant {
  /** The narrowed token: for this target and this data class alone. */
  readonly accessToken: string;
  /** The data class it was narrowed to; for an agent several, space-separated. */
  readonly scope: string;
  /** Seconds from its issue. */
  readonly expiresIn: number;
  /** The `hop` claim of the access token: one more than its subject token's. */
  readonly hop: number;
  readonly target: string;
  /** Only for a privileged target; bound to exactly the params that were passed. */
  readonly transactionToken?: string;
  /** Only where the client holds an agent key. */
  readonly identityAssertion?: string;
  /** The effective taint of the decision. */
  readonly taint: Taint;
  /** The recorded decision. */
  readonly actionId: string;
  /** For the call: `Authorization`, `X-Svc-Session`, and `Txn-Token` and `Agent-Identity` when present. */
  headers(): Readonly<Record<string, string>>;
}

/** @param sessionId a verifier admits no call without it (docs/reference/routes.md#planes-and-bearers) */
export function toGrant(sessionId: string, { kind, decision, token, ...companions }: HopTaken): Grant {
  const { accessToken, claims, expiresInSeconds: expiresIn } = token;
  const { scope, hop, aud: target, taint } = claims;
  const { transactionToken, identityAssertion } = companions;
  return Object.freeze({
    ...{ accessToken, scope, expiresIn, hop, target, taint, actionId: decision.actionId, ...companions },
    headers: () => ({
      Authorization: `Bearer ${accessToken}`,
      "X-Svc-Session": sessionId,
      ...(transactionToken !== undefined && { "Txn-Token": transactionToken }),
      ...(identityAssertion !== undefined && { "Agent-Identity": identityAssertion }),
    }),
  });
}
