import { type DenyReason, renewResponse } from "@svc/core";
import type { HopClaims } from "@svc/tokens";
import {
  type Answer,
  denyReasonOf,
  type ErrorResponse,
  isProofRefused,
  jsonUnder,
  parseBody,
  posting,
  reading,
  type Unusable,
  unusable,
} from "./send.ts";
import { type HopCredential, type Step, timed, unverifiedClaims } from "./step.ts";

/** The most siblings one renewal may ask for. */
export const maxRenewalCount = 8;

export type RenewResult =
  | { readonly kind: "renewed"; readonly tokens: readonly string[]; readonly expiresInSeconds: number }
  /** 409: the presented token was spent before. */
  | { readonly kind: "token_spent"; readonly response: ErrorResponse }
  /** The actor token is missing or not accepted; nothing was spent. */
  | { readonly kind: "proof_refused"; readonly response: ErrorResponse }
  /** 401: the presented token does not verify, or cannot renew. */
  | { readonly kind: "unauthorized"; readonly response: ErrorResponse }
  /** 403 `renewal_refused`: session, revocation, identity or block; nothing was spent. */
  | { readonly kind: "refused"; readonly denyReason: DenyReason | null; readonly response: ErrorResponse }
  | Unusable;

/**
 * `POST /v1/token/renew`: spends the presented token for `count` siblings of it (1-8). Never retried: after any
 * `unusable` but a refused connect the presented token may be spent.
 */
export const renew: Step<number, RenewResult> = timed(
  "renew",
  posting(
    async ({ prover }, presented, count) => {
      const body = JSON.stringify({ count, ...(prover && { actor_token: await prover.prove(presented.token) }) });
      return { path: "/v1/token/renew", headers: jsonUnder(presented), body };
    },
    reading(read, refusal),
  ),
);

function read(response: Answer, presented: HopCredential, count: number): RenewResult {
  const body = parseBody(renewResponse, response);
  if (!body || body.expires_in <= 0) return unusable("malformed");
  const before = unverifiedClaims(presented.token);
  const matchesRequest =
    before !== undefined &&
    body.tokens.length <= count &&
    new Set(body.tokens).size === body.tokens.length &&
    body.tokens.every((token) => isSibling(token, before));
  if (!matchesRequest) return unusable("mismatch");
  return { kind: "renewed", tokens: body.tokens, expiresInSeconds: body.expires_in };
}

function refusal(response: ErrorResponse): RenewResult {
  const { status, code } = response;
  if (status === 401) return { kind: "unauthorized", response };
  if (isProofRefused(response)) return { kind: "proof_refused", response };
  if (status === 409 && code === "token_spent") return { kind: "token_spent", response };
  if (status === 403 && code === "renewal_refused") {
    return { kind: "refused", denyReason: denyReasonOf(response), response };
  }
  return { kind: "unusable", fault: "status", response };
}

function isSibling(token: string, before: HopClaims): boolean {
  const given = unverifiedClaims(token);
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
