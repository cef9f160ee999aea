import { type DenyReason, type ErrorCode, errorCodes, renewResponse } from "@svc/core";
import type { HopClaims } from "@svc/tokens";
import type { TransportResponse } from "../transport.ts";
import { type Answer, answerOf, ask, bodyAs, denyReasonOf, type Unusable, unusable } from "./answer.ts";
import { heldClaims } from "./held-claims.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";
import { timed } from "./timed.ts";

/** The most siblings one renewal may ask for. */
export const maxRenewalCount = 8;

export type RenewResult =
  | { readonly kind: "renewed"; readonly tokens: readonly string[]; readonly expiresInSeconds: number }
  /** 409: the presented token was spent before. */
  | { readonly kind: "token_spent"; readonly answer: Answer }
  /** 401: the presented token does not verify, or cannot renew. */
  | { readonly kind: "unauthorized"; readonly answer: Answer }
  /** 403 `renewal_refused`: session, revocation, identity or block; nothing was spent. */
  | { readonly kind: "refused"; readonly denyReason: DenyReason | null; readonly answer: Answer }
  | Unusable;

/**
 * `POST /v1/token/renew`: spends the presented token for `count` siblings of it (1-8). Never retried: after any
 * `unusable` but a refused connect the presented token may be spent.
 */
export function renew(
  ports: StepPorts,
  presented: HopCredential,
  count: number,
  options: StepOptions,
): Promise<RenewResult> {
  return timed("renew", ports, options, async () => {
    const body = { count, ...(ports.prover && { actor_token: await ports.prover.prove(presented.token) }) };
    const headers = { "content-type": "application/json", authorization: `Bearer ${presented.token}` };
    const question = { method: "POST", path: "/v1/token/renew", headers, body: JSON.stringify(body) } as const;
    const heard = await ask(ports, question, options);
    return heard.kind === "unusable" ? heard : read(heard.response, presented, count);
  });
}

function read(response: TransportResponse, presented: HopCredential, count: number): RenewResult {
  if (response.status !== 200) return refusal(response);
  const body = bodyAs(renewResponse, response);
  if (!body || body.expires_in <= 0) return unusable("malformed");
  const before = heldClaims(presented.token);
  const isAsAsked =
    before !== undefined &&
    body.tokens.length <= count &&
    new Set(body.tokens).size === body.tokens.length &&
    body.tokens.every((token) => isSibling(token, before));
  if (!isAsAsked) return unusable("mismatch");
  return { kind: "renewed", tokens: body.tokens, expiresInSeconds: body.expires_in };
}

function refusal(response: TransportResponse): RenewResult {
  const answer = answerOf(response);
  if (response.status === 401) return { kind: "unauthorized", answer };
  if (response.status === 409 && answer.code === "token_spent") return { kind: "token_spent", answer };
  if (response.status === 403 && answer.code === "renewal_refused") {
    return { kind: "refused", denyReason: denyReasonOf(answer), answer };
  }
  return { kind: "unusable", fault: "status", answer };
}

function isSibling(token: string, before: HopClaims): boolean {
  const given = heldClaims(token);
  return (
    given !== undefined &&
    given.jti !== before.jti &&
    given.sub === before.sub &&
    given.aud === before.aud &&
    given.scope === before.scope &&
    given.sessionId === before.sessionId &&
    given.actionId === before.actionId &&
    given.hop === before.hop &&
    JSON.stringify(given.act) === JSON.stringify(before.act)
  );
}

/** Faults of a store: the control plane changed nothing. */
const unchangedCodes: readonly unknown[] = [
  "guard_unavailable",
  "database_unavailable",
  "audit_unavailable",
] satisfies ErrorCode[];

/** Whether the presented token is still unspent: nothing was sent, or the control plane itself refused. */
export function isUnspentAfter({ fault, answer }: Unusable): boolean {
  if (fault === "refused") return true;
  if (fault !== "status" || !answer || !errorCodes.some((code) => code === answer.code)) return false;
  return (answer.status >= 400 && answer.status < 500) || unchangedCodes.includes(answer.code);
}
