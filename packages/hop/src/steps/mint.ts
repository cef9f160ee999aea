import { type DenyReason, transactionResponse } from "@svc/core";
import { decodeUnverifiedTransactionToken, isJsonObject } from "@svc/tokens";
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
import { type HopCredential, type Step, timed } from "./step.ts";

export interface MintRequest {
  /** The narrowed token's own `action_id`. */
  readonly actionId: string;
  /** The narrowed token's audience. */
  readonly target: string;
  /** The call's JSON object as text, sent exactly as given: the token binds what the target reads. */
  readonly paramsJson: string;
}

export type MintResult =
  | { readonly kind: "minted"; readonly transactionToken: string; readonly expiresInSeconds: number }
  /** 403 `mint_refused`: the verdict on the present state is a deny. */
  | { readonly kind: "denied"; readonly denyReason: DenyReason | null; readonly response: ErrorResponse }
  /** 401: the narrowed token is not accepted; 400: the actor token is not. */
  | { readonly kind: "unauthorized"; readonly response: ErrorResponse }
  | Unusable;

/**
 * `POST /v1/token/transaction` with the narrowed token. Never retried.
 * @throws {TypeError} where `paramsJson` is not the text of one JSON object; nothing was sent then
 */
export const mint: Step<MintRequest, MintResult> = timed(
  "mint",
  posting(
    async ({ prover }, narrowed, { actionId, paramsJson }) => {
      requireOneObject(paramsJson);
      const members = [`"action_id":${JSON.stringify(actionId)}`, `"params":${paramsJson}`];
      if (prover) members.push(`"actor_token":${JSON.stringify(await prover.prove(narrowed.token))}`);
      return { path: "/v1/token/transaction", headers: jsonUnder(narrowed), body: `{${members.join()}}` };
    },
    reading(read, refusal),
  ),
);

// The text becomes part of the body: anything but one object could add members to it.
function requireOneObject(json: string): void {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value)) throw new TypeError("params must be the text of one JSON object");
}

function read(response: Answer, narrowed: HopCredential, request: MintRequest): MintResult {
  const body = parseBody(transactionResponse, response);
  const claims = body && decodeUnverifiedTransactionToken(body.transaction_token);
  if (!body || !claims) return unusable("malformed");
  const matchesRequest =
    body.action_id === request.actionId &&
    claims.actionId === request.actionId &&
    claims.aud === request.target &&
    claims.target === request.target &&
    claims.sessionId === narrowed.sessionId;
  if (!matchesRequest) return unusable("mismatch");
  return { kind: "minted", transactionToken: body.transaction_token, expiresInSeconds: body.expires_in };
}

function refusal(response: ErrorResponse): MintResult {
  const { status, code } = response;
  if (status === 401 || isProofRefused(response)) return { kind: "unauthorized", response };
  if (status === 403 && code === "mint_refused") {
    return { kind: "denied", denyReason: denyReasonOf(response), response };
  }
  return { kind: "unusable", fault: "status", response };
}
