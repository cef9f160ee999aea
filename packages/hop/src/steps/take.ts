import type { EmbeddedAnswer, HopAnswer } from "@svc/core";
import type { HopLines } from "../hop-lines.ts";
import type { Sibling } from "../pool/lease.ts";
import { type Allowed, type DecideRequest, type DecideResult, type Decision, decisionIn } from "./decide.ts";
import { type ExchangeResult, exchangeIn, type NarrowedToken } from "./exchange.ts";
import { type Answer, faultOf, unusable } from "./send.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";

export interface TakeRequest extends DecideRequest {
  /** The token to spend: of the same holder as the presented one. */
  readonly token: string;
  /** False: more may be learnt before the call's body ends. */
  readonly bodySettled: boolean;
}

export type TakeResult =
  | {
      readonly kind: "taken";
      readonly decision: Allowed;
      readonly token: NarrowedToken;
      readonly sibling: Sibling;
    }
  /** The decision alone: a deny, or an allow that an exchange is to follow. Nothing was spent. */
  | { readonly kind: "decided"; readonly decision: Decision }
  | { readonly kind: "undecided"; readonly result: Exclude<DecideResult, { readonly kind: "decided" }> }
  /** Decided, and not exchanged. */
  | {
      readonly kind: "untaken";
      readonly decision: Allowed;
      readonly result: Exclude<ExchangeResult, { readonly kind: "exchanged" }>;
    };

/**
 * Decide and exchange in one trip, under the presented credential. Never retried but for a refused connect, once,
 * within the same deadline: after any other fault the token may be spent.
 */
export async function take(
  ports: StepPorts,
  lines: HopLines,
  credential: HopCredential,
  request: TakeRequest,
  { deadlineMs, signal, trace, onStage }: StepOptions,
): Promise<TakeResult> {
  const startedMs = ports.monotonicMs();
  const elapsedMs = () => ports.monotonicMs() - startedMs;
  const proof = ports.prover && { actorToken: await ports.prover.prove(request.token) };
  const line = { enforced: true, ...request, sessionId: credential.sessionId, ...trace, ...proof };
  const attempt = async (): Promise<HopAnswer | Extract<DecideResult, { readonly kind: "unusable" }>> => {
    const leftMs = deadlineMs - elapsedMs();
    if (signal?.aborted) return { ...unusable("aborted"), isUnsent: true };
    if (leftMs <= 0) return { ...unusable("timeout"), isUnsent: true };
    return lines.take(line, { deadlineMs: leftMs, ...(signal && { signal }) }).catch(faultOf);
  };
  const first = await attempt();
  const answer = "kind" in first && first.fault === "refused" ? await attempt() : first;
  const exchangeMs = "kind" in answer ? undefined : answer.stages?.exchange;
  onStage?.("decide", elapsedMs() - (exchangeMs ?? 0));
  if (exchangeMs !== undefined) onStage?.("exchange", exchangeMs);
  return "kind" in answer ? { kind: "undecided", result: answer } : resultOf(answer, credential, request);
}

function resultOf(answer: HopAnswer, credential: HopCredential, request: TakeRequest): TakeResult {
  const { authorize, exchange, sibling } = answer;
  if (authorize === undefined) return { kind: "undecided", result: unusable("malformed") };
  const decided = decisionIn(asAnswer(authorize), credential, request);
  if (decided.kind !== "decided") return { kind: "undecided", result: decided };
  const { decision } = decided;
  if (exchange === undefined) return { kind: "decided", decision };
  if (decision.outcome === "deny") return { kind: "undecided", result: unusable("malformed") };
  const exchanged = exchangeIn(asAnswer(exchange), credential, { ...request, actionId: decision.actionId });
  if (exchanged.kind !== "exchanged") return { kind: "untaken", decision, result: exchanged };
  if (sibling === undefined) return { kind: "untaken", decision, result: unusable("malformed") };
  const { token, expiresIn: expiresInSeconds } = sibling;
  return { kind: "taken", decision, token: exchanged.token, sibling: { token, expiresInSeconds } };
}

const asAnswer = ({ status, body, retryAfter }: EmbeddedAnswer): Answer => ({
  status,
  body,
  headers: retryAfter === undefined ? {} : { "retry-after": retryAfter },
});
