import { type DenyReason, transactionResponse } from "@svc/core";
import { decodeBase64url } from "@svc/tokens";
import { z } from "zod";
import type { TransportResponse } from "../transport.ts";
import { type Answer, answerOf, ask, bodyAs, denyReasonOf, type Unusable, unusable } from "./answer.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";
import { timed } from "./timed.ts";

export interface MintRequest {
  /** The narrowed token's own `action_id`. */
  readonly actionId: string;
  /** The narrowed token's audience. */
  readonly target: string;
  /**
   * The call's JSON object, as text: it is sent exactly as given, so that what is bound is what the target will read,
   * number spelling included.
   */
  readonly paramsJson: string;
}

export type MintResult =
  | { readonly kind: "minted"; readonly transactionToken: string; readonly expiresInSeconds: number }
  /** 403 `mint_refused`: the verdict on the present state is a deny. */
  | { readonly kind: "denied"; readonly denyReason: DenyReason | null; readonly answer: Answer }
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
    const question = { method: "POST", path: "/v1/token/transaction", headers, body: `{${members.join()}}` } as const;
    const heard = await ask(ports, question, options);
    return heard.kind === "unusable" ? heard : read(heard.response, narrowed, request);
  });
}

// The text stands inside a body of ours: anything but one object could add members to it.
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

function read(response: TransportResponse, narrowed: HopCredential, asked: MintRequest): MintResult {
  if (response.status !== 200) return refusal(response);
  const body = bodyAs(transactionResponse, response);
  const claims = body && transactionClaims.safeParse(payloadOf(body.transaction_token)).data;
  if (!body || !claims) return unusable("malformed");
  const isAsAsked =
    body.action_id === asked.actionId &&
    claims.txn === asked.actionId &&
    claims.aud === asked.target &&
    claims.tctx.target === asked.target &&
    claims.sid === narrowed.sessionId;
  if (!isAsAsked) return unusable("mismatch");
  return { kind: "minted", transactionToken: body.transaction_token, expiresInSeconds: body.expires_in };
}

const transactionClaims = z.object({
  aud: z.string(),
  txn: z.string(),
  sid: z.string(),
  tctx: z.object({ target: z.string() }),
});

/** What a token says of itself; whoever admits it verifies it. */
function payloadOf(token: string): unknown {
  const bytes = decodeBase64url(token.split(".", 3)[1] ?? "");
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function refusal(response: TransportResponse): MintResult {
  const answer = answerOf(response);
  if (response.status === 403 && answer.code === "mint_refused") {
    return { kind: "denied", denyReason: denyReasonOf(answer), answer };
  }
  return { kind: "unusable", fault: "status", answer };
}
