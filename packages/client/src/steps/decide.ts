import {
  type AuthorizeResponse,
  authorizeResponse,
  type DenyReason,
  type GuaranteeLevel,
  type Taint,
  type TargetKind,
} from "@svc/core";
import { z } from "zod";
import { type Answer, answerIn, ask, bodyOf, type Unusable, type UnusableFault } from "./answer.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";
import { timed } from "./timed.ts";

export interface DecideRequest {
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, space-separated. */
  readonly dataClass: string;
  /** Raises the effective taint of the decision, never lowers it. */
  readonly taint?: Taint;
  /** False in observe mode: it marks the record and never changes the decision. Default true. */
  readonly enforced?: boolean;
}

interface DecisionFacts {
  /** Names the committed audit record. */
  readonly actionId: string;
  readonly enforced: boolean;
  readonly hop: number;
  readonly actingAgent: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  readonly dataClass: string;
  readonly privileged: boolean;
  /** The call needs a transaction token bound to its parameters. */
  readonly transactionRequired: boolean;
  readonly taint: Taint;
  readonly taintSource: string | null;
  readonly policyVersion: number;
  readonly guaranteeLevel: GuaranteeLevel | null;
  /** ISO 8601, UTC. */
  readonly decidedAt: string;
}

export type Allowed = DecisionFacts & { readonly outcome: "allow" };
export type Denied = DecisionFacts & {
  readonly outcome: "deny";
  readonly denyReason: DenyReason;
  readonly recoverable: boolean;
  /** Scopes whose consent would admit the call; empty unless `recoverable`. */
  readonly consentableScopes: readonly string[];
};
export type Decision = Allowed | Denied;

export type DecideResult =
  | { readonly kind: "decided"; readonly decision: Decision }
  /** 401: the token does not verify, or is another session's. */
  | { readonly kind: "unauthorized"; readonly answer: Answer }
  /** The decision has no committed record, so nobody may act on it. */
  | { readonly kind: "audit_unavailable"; readonly answer: Answer }
  | Unusable;

/**
 * `POST /v1/authorize` with the current-hop token. It spends nothing, so a refused connect is tried once more within
 * the same deadline; nothing else is (contract: Causes from the control plane's answers).
 */
export function decide(
  ports: StepPorts,
  credential: HopCredential,
  request: DecideRequest,
  options: StepOptions,
): Promise<DecideResult> {
  return timed("decide", ports, options, async () => {
    const heard = await askToDecide(ports, { path: "/v1/authorize", credential, request }, options);
    if (heard.kind === "unusable") return heard;
    const { response } = heard;
    return readDecision(response.status, bodyOf(response), credential.sessionId, request);
  });
}

interface ToDecide {
  readonly path: string;
  readonly credential: HopCredential;
  readonly request: DecideRequest;
  /** Members of the body beyond those of `POST /v1/authorize`. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Asks what spends nothing where it is not reached: a refused connect is tried once more within the same deadline. */
export async function askToDecide(
  ports: StepPorts,
  { path, credential: { sessionId, token }, request, more }: ToDecide,
  options: StepOptions,
): ReturnType<typeof ask> {
  const question = {
    method: "POST",
    path,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({
      session_id: sessionId,
      target: request.target,
      target_kind: request.targetKind,
      data_class: request.dataClass,
      ...(request.taint && { taint: request.taint }),
      enforced: request.enforced ?? true,
      ...more,
    }),
  } as const;
  const startedMs = ports.monotonicMs();
  const first = await ask(ports, question, options);
  if (first.kind !== "unusable" || first.fault !== "refused") return first;
  const deadlineMs = options.deadlineMs - (ports.monotonicMs() - startedMs);
  if (deadlineMs <= 0 || options.signal?.aborted) return first;
  return ask(ports, question, { ...options, deadlineMs });
}

// The record's name apart, so that a decision nobody recorded is told from a malformed one.
const unrecordedDecision = authorizeResponse.omit({ action_id: true }).extend({ session_id: z.string().optional() });
const recordName = z.object({ action_id: z.string().min(1) });

/** What `POST /v1/authorize` answered, its body as {@link bodyOf} reads it. */
export function readDecision(status: number, body: unknown, sessionId: string, asked: DecideRequest): DecideResult {
  if (status !== 200) return refusal(answerIn(status, body));
  const unusable = (fault: UnusableFault): Unusable => ({ kind: "unusable", fault, answer: answerIn(status, body) });
  const told = unrecordedDecision.safeParse(body).data;
  if (!told) return unusable("malformed");
  const record = recordName.safeParse(body).data;
  if (!record) return { kind: "audit_unavailable", answer: answerIn(status, body) };
  if (!answersWhatWasAsked(told, sessionId, asked)) return unusable("mismatch");
  const decision = toDecision({ ...told, ...record });
  return decision ? { kind: "decided", decision } : unusable("malformed");
}

function refusal(answer: Answer): DecideResult {
  if (answer.status === 401) return { kind: "unauthorized", answer };
  if (answer.status === 503 && answer.code === "audit_unavailable") return { kind: "audit_unavailable", answer };
  return { kind: "unusable", fault: "status", answer };
}

type UnrecordedDecision = z.output<typeof unrecordedDecision>;

const answersWhatWasAsked = (body: UnrecordedDecision, sessionId: string, asked: DecideRequest): boolean =>
  (body.session_id ?? sessionId) === sessionId &&
  body.target === asked.target &&
  body.target_kind === asked.targetKind &&
  body.data_class === asked.dataClass &&
  body.enforced === (asked.enforced ?? true);

/** Undefined for an allow that carries a reason and for a deny that carries none. */
function toDecision(body: AuthorizeResponse): Decision | undefined {
  const facts = {
    actionId: body.action_id,
    enforced: body.enforced,
    hop: body.hop,
    actingAgent: body.acting_agent,
    target: body.target,
    targetKind: body.target_kind,
    dataClass: body.data_class,
    privileged: body.privileged,
    transactionRequired: body.transaction_required,
    taint: body.taint,
    taintSource: body.taint_source,
    policyVersion: body.policy_version,
    guaranteeLevel: body.guarantee_level,
    decidedAt: body.decided_at,
  };
  if (body.decision === "allow") return body.deny_reason === null ? { ...facts, outcome: "allow" } : undefined;
  if (body.deny_reason === null) return undefined;
  const { deny_reason: denyReason, recoverable, consentable_scopes: consentableScopes = [] } = body;
  return { ...facts, outcome: "deny", denyReason, recoverable, consentableScopes };
}
