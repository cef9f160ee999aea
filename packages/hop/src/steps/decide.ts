import {
  type AuthorizeResponse,
  authorizeRequest,
  authorizeResponse,
  type CamelCased,
  type DenyReason,
  fromWire,
  type Taint,
  type TargetKind,
  toWire,
} from "@svc/core";
import { z } from "zod";
import {
  type Answer,
  type ErrorResponse,
  errorResponse,
  isProofRefused,
  jsonUnder,
  parseBody,
  posting,
  reading,
  type Unusable,
  unusable,
} from "./send.ts";
import { type HopCredential, type Step, timed } from "./step.ts";

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

/** `actionId` names the committed record; `transactionRequired`: the call needs a token bound to its parameters. */
type DecisionFacts = CamelCased<
  Omit<AuthorizeResponse, "decision" | "deny_reason" | "recoverable" | "consentable_scopes">
>;

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
  /** 401: the token does not verify, or is another session's; 400: the actor token is not accepted. */
  | { readonly kind: "unauthorized"; readonly response: ErrorResponse }
  /** The decision has no committed record, so it may not be used. */
  | { readonly kind: "audit_unavailable"; readonly response: ErrorResponse }
  | Unusable;

/**
 * `POST /v1/authorize` with the current-hop token. It spends nothing, so a refused connect is tried once more within
 * the same deadline; nothing else is (docs/reference/enforcement-point.md#causes).
 */
export const decide: Step<DecideRequest, DecideResult> = timed(
  "decide",
  async (ports, credential, request, options) => {
    const startedMs = ports.monotonicMs();
    const first = await authorize(ports, credential, request, options);
    if (first.kind !== "unusable" || first.fault !== "refused") return first;
    const deadlineMs = options.deadlineMs - (ports.monotonicMs() - startedMs);
    if (deadlineMs <= 0 || options.signal?.aborted) return first;
    return authorize(ports, credential, request, { ...options, deadlineMs });
  },
);

/** What an answer of `POST /v1/authorize` says. */
export const decisionIn = reading<DecideRequest, DecideResult>(read, refusal);

const authorize = posting<DecideRequest, DecideResult>(async (_ports, credential, request) => {
  const body = toWire(authorizeRequest, { sessionId: credential.sessionId, enforced: true, ...request });
  return { path: "/v1/authorize", headers: jsonUnder(credential), body: JSON.stringify(body) };
}, decisionIn);

/** Without a record's id a decision is well-formed, and not usable. */
const decisionBody = authorizeResponse.extend({
  action_id: z.string().min(1).nullable().catch(null),
  session_id: z.string().optional(),
});

function read(response: Answer, { sessionId }: HopCredential, request: DecideRequest): DecideResult {
  const body = parseBody(decisionBody, response);
  if (!body) return unusable("malformed", response);
  const { action_id } = body;
  if (action_id === null) return { kind: "audit_unavailable", response: errorResponse(response) };
  if (!matchesRequest(body, sessionId, request)) return unusable("mismatch", response);
  const decision = toDecision({ ...body, action_id });
  return decision ? { kind: "decided", decision } : unusable("malformed", response);
}

function refusal(response: ErrorResponse): DecideResult {
  if (response.status === 401 || isProofRefused(response)) return { kind: "unauthorized", response };
  if (response.status === 503 && response.code === "audit_unavailable") return { kind: "audit_unavailable", response };
  return { kind: "unusable", fault: "status", response };
}

const matchesRequest = (body: z.output<typeof decisionBody>, sessionId: string, request: DecideRequest): boolean =>
  (body.session_id ?? sessionId) === sessionId &&
  body.target === request.target &&
  body.target_kind === request.targetKind &&
  body.data_class === request.dataClass &&
  body.enforced === (request.enforced ?? true);

/** Undefined for an allow that carries a reason and for a deny that carries none. */
function toDecision(body: AuthorizeResponse): Decision | undefined {
  const { decision, denyReason, recoverable, consentableScopes = [], ...facts } = fromWire(authorizeResponse, body);
  if (decision === "allow") return denyReason === null ? { ...facts, outcome: "allow" } : undefined;
  return denyReason === null ? undefined : { ...facts, outcome: "deny", denyReason, recoverable, consentableScopes };
}
