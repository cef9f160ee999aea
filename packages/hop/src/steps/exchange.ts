import {
  type DenyReason,
  denyReasons,
  exchangeResponse,
  jwtTokenType,
  type Taint,
  tokenExchangeGrantType,
} from "@svc/core";
import { actChain, decodeUnverifiedHopToken, type HopClaims, nextAct } from "@svc/tokens";
import type { TransportResponse } from "../transport.ts";
import { type Answer, answerOf, ask, bodyAs, type Unusable, unusable } from "./answer.ts";
import { heldClaims } from "./held-claims.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";
import { timed } from "./timed.ts";

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
  /** Compared with what was asked; not verified. */
  readonly claims: HopClaims;
}

export type ExchangeResult =
  | { readonly kind: "exchanged"; readonly token: NarrowedToken }
  /** 403 `invalid_target`: the allow no longer holds. The reason, where the answer names one. */
  | { readonly kind: "denied"; readonly denyReason: DenyReason | null; readonly answer: Answer }
  /** 400 `invalid_grant`: the token or the allow was spent, or is not this hop's. */
  | { readonly kind: "unauthorized"; readonly answer: Answer }
  | Unusable;

/**
 * `POST /v1/token/exchange` (RFC 8693). Never retried: whatever is answered or lost, the subject token counts as spent
 * unless the result is `denied`. A token that is not exactly what was asked for is `unusable`.
 */
export function exchange(
  ports: StepPorts,
  subject: HopCredential,
  request: ExchangeRequest,
  options: StepOptions,
): Promise<ExchangeResult> {
  return timed("exchange", ports, options, async () => {
    const form = new URLSearchParams({
      grant_type: tokenExchangeGrantType,
      subject_token: subject.token,
      subject_token_type: jwtTokenType,
      resource: request.target,
      scope: request.dataClass,
      action_id: request.actionId,
      ...(request.taint && { taint: request.taint }),
      ...(ports.prover && {
        actor_token: await ports.prover.prove(subject.token),
        actor_token_type: jwtTokenType,
      }),
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const question = { method: "POST", path: "/v1/token/exchange", headers, body: form.toString() } as const;
    const heard = await ask(ports, question, options);
    return heard.kind === "unusable" ? heard : read(heard.response, subject, request);
  });
}

function read(response: TransportResponse, subject: HopCredential, asked: ExchangeRequest): ExchangeResult {
  if (response.status !== 200) return refusal(response);
  const body = bodyAs(exchangeResponse, response);
  const claims = body && decodeUnverifiedHopToken(body.access_token);
  // Here and below without the answer: the body of a 200 holds a token.
  if (!body || !claims) return unusable("malformed");
  if (!narrowsAsAsked(claims, subject, asked)) return unusable("mismatch");
  const token = { accessToken: body.access_token, expiresInSeconds: body.expires_in, claims };
  return { kind: "exchanged", token };
}

function refusal(response: TransportResponse): ExchangeResult {
  const answer = answerOf(response);
  if (response.status === 403 && answer.code === "invalid_target") {
    return { kind: "denied", denyReason: reasonNamedIn(answer), answer };
  }
  if (response.status === 400 && answer.code === "invalid_grant") return { kind: "unauthorized", answer };
  return { kind: "unusable", fault: "status", answer };
}

/** RFC 6749 section 5.2 leaves a refusal no member for the reason but its description. */
const reasonNamedIn = ({ message = "" }: Answer): DenyReason | null =>
  denyReasons.find((reason) => message.split(/[^A-Z_]+/).includes(reason)) ?? null;

/** Every claim the exchange promises (specification: Hop token claims), so that no other hop's token is ever used. */
function narrowsAsAsked(given: HopClaims, subject: HopCredential, asked: ExchangeRequest): boolean {
  const before = heldClaims(subject.token);
  return (
    before !== undefined &&
    given.aud === asked.target &&
    given.scope === asked.dataClass &&
    given.actionId === asked.actionId &&
    given.sessionId === subject.sessionId &&
    given.sub === before.sub &&
    given.hop === before.hop + 1 &&
    isSameChain(given, { sub: before.sub, aud: asked.target, act: nextAct(before) })
  );
}

type ChainClaims = Parameters<typeof actChain>[0];

const isSameChain = (one: ChainClaims, other: ChainClaims): boolean =>
  JSON.stringify(actChain(one)) === JSON.stringify(actChain(other));
