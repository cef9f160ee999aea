import {
  type DenyReason,
  denyReasons,
  exchangeResponse,
  jwtTokenType,
  type Taint,
  tokenExchangeGrantType,
} from "@svc/core";
import { decodeUnverifiedHopToken, type HopClaims, nextAct } from "@svc/tokens";
import { type Answer, type ErrorResponse, parseBody, posting, reading, type Unusable, unusable } from "./send.ts";
import { type HopCredential, type Step, timed, unverifiedClaims } from "./step.ts";

export interface ExchangeRequest {
  /** RFC 8693 `resource`. */
  readonly target: string;
  /** RFC 8693 `scope`. */
  readonly dataClass: string;
  /** The allow that is spent. */
  readonly actionId: string;
  readonly taint?: Taint;
}

export interface NarrowedToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** Compared with the request; not verified. */
  readonly claims: HopClaims;
}

export type ExchangeResult =
  | { readonly kind: "exchanged"; readonly token: NarrowedToken }
  /** 403 `invalid_target`: the allow no longer holds. The reason, where the response names one. */
  | { readonly kind: "denied"; readonly denyReason: DenyReason | null; readonly response: ErrorResponse }
  /** 400 `invalid_grant`: the token or the allow was spent, or is not this hop's; `invalid_request`: token or proof. */
  | { readonly kind: "unauthorized"; readonly response: ErrorResponse }
  | Unusable;

/** What an answer of `POST /v1/token/exchange` says. */
export const exchangeIn = reading<ExchangeRequest, ExchangeResult>(read, refusal);

/**
 * `POST /v1/token/exchange` (RFC 8693). Never retried: unless the result is `denied` or nothing was sent, the subject
 * token may be spent. A token that does not match the request is `unusable`.
 */
export const exchange: Step<ExchangeRequest, ExchangeResult> = timed(
  "exchange",
  posting(async ({ prover }, subject, request) => {
    const form = new URLSearchParams({
      grant_type: tokenExchangeGrantType,
      subject_token: subject.token,
      subject_token_type: jwtTokenType,
      resource: request.target,
      scope: request.dataClass,
      action_id: request.actionId,
      ...(request.taint && { taint: request.taint }),
      ...(prover && { actor_token: await prover.prove(subject.token), actor_token_type: jwtTokenType }),
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return { path: "/v1/token/exchange", headers, body: `${form}` };
  }, exchangeIn),
);

function read(response: Answer, subject: HopCredential, request: ExchangeRequest): ExchangeResult {
  const body = parseBody(exchangeResponse, response);
  const claims = body && decodeUnverifiedHopToken(body.access_token);
  // Without the response: the body of a 200 holds a token.
  if (!body || !claims) return unusable("malformed");
  if (!matchesRequest(claims, subject, request)) return unusable("mismatch");
  const token = { accessToken: body.access_token, expiresInSeconds: body.expires_in, claims };
  return { kind: "exchanged", token };
}

function refusal(response: ErrorResponse): ExchangeResult {
  const { status, code } = response;
  if (status === 403 && code === "invalid_target") return { kind: "denied", denyReason: reasonIn(response), response };
  // The form is well-formed, so `invalid_request` is about its subject token or its actor token (RFC 8693 section 2.2.2).
  const isRefused = code === "invalid_grant" || code === "invalid_request";
  if (status === 400 && isRefused) return { kind: "unauthorized", response };
  return { kind: "unusable", fault: "status", response };
}

/** The description is the only member of RFC 6749 section 5.2 that can name the reason. */
const reasonIn = ({ message = "" }: ErrorResponse): DenyReason | null =>
  denyReasons.find((reason) => message.split(/[^A-Z_]+/).includes(reason)) ?? null;

/**
 * Every claim the exchange promises (docs/reference/tokens.md#hop-token), so that no other hop's token is ever used.
 */
function matchesRequest(given: HopClaims, subject: HopCredential, request: ExchangeRequest): boolean {
  const before = unverifiedClaims(subject.token);
  return (
    before !== undefined &&
    given.aud === request.target &&
    given.scope === request.dataClass &&
    given.actionId === request.actionId &&
    given.sessionId === subject.sessionId &&
    given.sub === before.sub &&
    given.hop === before.hop + 1 &&
    JSON.stringify(given.act) === JSON.stringify(nextAct(before))
  );
}
