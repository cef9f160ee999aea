import {
  type AuthorizeResponse,
  authorizeResponse,
  type DenyReason,
  type GuaranteeLevel,
  type Taint,
  type TargetKind,
} from "@svc/core";
import { z } from "zod";
import type { TransportResponse } from "../transport.ts";
import { type Answer, answerOf, ask, bodyAs, type Unusable, unusable } from "./answer.ts";
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
    const startedMs = ports.monotonicMs();
    const first = await authorize(ports, credential, request, options);
    if (first.kind !== "unusable" || first.fault !== "refused") return first;
    const deadlineMs = options.deadlineMs - (ports.monotonicMs() - startedMs);
    if (deadlineMs <= 0 || options.signal?.aborted) return first;
    return authorize(ports, credential, request, { ...options, deadlineMs });
  });
}

async function authorize(
  ports: StepPorts,
  { sessionId, token }: HopCredential,
  request: DecideRequest,
  options: StepOptions,
): Promise<DecideResult> {
  const heard = await ask(
    ports,
    {
      method: "POST",
      path: "/v1/authorize",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({
        session_id: sessionId,
        target: request.target,
        target_kind: request.targetKind,
        data_class: request.dataClass,
        ...(request.taint && { taint: request.taint }),
        enforced: request.enforced ?? true,
      }),
    },
    options,
  );
  return heard.kind === "unusable" ? heard : read(heard.response, sessionId, request);
}

// The record's name apart, so that a decision nobody recorded is told from a malformed one.
const unrecordedDecision = authorizeResponse.omit({ action_id: true }).extend({ session_id: z.string().optional() });
const recordName = z.object({ action_id: z.string().min(1) });

function read(response: TransportResponse, sessionId: string, asked: DecideRequest): DecideResult {
  if (response.status === 401) return { kind: "unauthorized", answer: answerOf(response) };
  if (response.status === 503 && answerOf(response).code === "audit_unavailable") {
    return { kind: "audit_unavailable", answer: answerOf(response) };
  }
  if (response.status !== 200) return unusable("status", response);
  const body = bodyAs(unrecordedDecision, response);
  if (!body) return unusable("malformed", response);
  const record = bodyAs(recordName, response);
  if (!record) return { kind: "audit_unavailable", answer: answerOf(response) };
  if (!answersWhatWasAsked(body, sessionId, asked)) return unusable("mismatch", response);
  const decision = toDecision({ ...body, ...record });
  return decision ? { kind: "decided", decision } : unusable("malformed", response);
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
