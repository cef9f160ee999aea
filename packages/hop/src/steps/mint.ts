import { type DenyReason, transactionResponse } from "@svc/core";
import { decodeBase64url } from "@svc/tokens";
import { z } from "zod";
import type { TransportResponse } from "../transport.ts";
import { denyReasonOf, type ErrorResponse, errorResponse, parseBody, send, type Unusable, unusable } from "./send.ts";
import { type HopCredential, type StepOptions, type StepPorts, timed } from "./step.ts";

export interface MintRequest {
  /** The narrowed token's own `action_id`. */
  readonly actionId: string;
  /** The narrowed token's audience. */
  readonly target: string;
  /**
   * The call's JSON object, as text. Sent exactly as given, number spelling included: the token binds what the target
   * reads.
   */
  readonly paramsJson: string;
}

export type MintResult =
  | { readonly kind: "minted"; readonly transactionToken: string; readonly expiresInSeconds: number }
  /** 403 `mint_refused`: the verdict on the present state is a deny. */
  | { readonly kind: "denied"; readonly denyReason: DenyReason | null; readonly response: ErrorResponse }
  | Unusable;

/**
 * `POST /v1/token/transaction` with the narrowed token. Never retried.
 *
 * @throws {TypeError} where `paramsJson` is not the text of one JSON object; nothing was sent then
 */
export function mint(
  ports: StepPorts,
  narrowed: HopCredential,
  request: MintRequest,
  options: StepOptions,
): Promise<MintResult> {
  return timed("mint", ports, options, async () => {
    requireOneObject(request.paramsJson);
    const members = [`"action_id":${JSON.stringify(request.actionId)}`, `"params":${request.paramsJson}`];
    if (ports.prover) members.push(`"actor_token":${JSON.stringify(await ports.prover.prove(narrowed.token))}`);
    const headers = { "content-type": "application/json", authorization: `Bearer ${narrowed.token}` };
    const body = `{${members.join()}}`;
    const sent = await send(ports, { method: "POST", path: "/v1/token/transaction", headers, body }, options);
    return sent.kind === "unusable" ? sent : read(sent.response, narrowed, request);
  });
}

// The text becomes part of the body: anything but one object could add members to it.
function requireOneObject(json: string): void {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("params must be the text of one JSON object");
  }
}

function read(response: TransportResponse, narrowed: HopCredential, request: MintRequest): MintResult {
  if (response.status !== 200) return refusal(errorResponse(response));
  const body = parseBody(transactionResponse, response);
  const claims = body && transactionClaims.safeParse(payloadOf(body.transaction_token)).data;
  if (!body || !claims) return unusable("malformed");
  const matchesRequest =
    body.action_id === request.actionId &&
    claims.txn === request.actionId &&
    claims.aud === request.target &&
    claims.tctx.target === request.target &&
    claims.sid === narrowed.sessionId;
  if (!matchesRequest) return unusable("mismatch");
  return { kind: "minted", transactionToken: body.transaction_token, expiresInSeconds: body.expires_in };
}

const transactionClaims = z.object({
  aud: z.string(),
  txn: z.string(),
  sid: z.string(),
  tctx: z.object({ target: z.string() }),
});

/** Unverified: the target verifies the token. */
function payloadOf(token: string): unknown {
  const bytes = decodeBase64url(token.split(".", 3)[1] ?? "");
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

const refusal = (response: ErrorResponse): MintResult =>
  response.status === 403 && response.code === "mint_refused"
    ? { kind: "denied", denyReason: denyReasonOf(response), response }
    : { kind: "unusable", fault: "status", response };
