import { type BlockCause, isDataClassDeclared, type PepOutcome } from "@svc/core";
import type { Allowed, HopCredential, RecordedDeny, Stage, TraceHeaders } from "@svc/hop";
import {
  blockLogLevels,
  type TraceHeaders as InboundTrace,
  type LogLevel,
  type Span,
  type SpanFacts,
  spanStart,
  type Telemetry,
  verdictFacts,
} from "@svc/telemetry";
import { actChain } from "@svc/tokens";
import type { Refusal } from "./decide/admit.ts";
import { presentedClaims } from "./decide/inbound-credentials.ts";
import { type RawHeaders, valuesOf } from "./message/headers.ts";
import type { PepMode } from "./modes.ts";
import type { BlockReason } from "./protocols/blocks.ts";

export interface CallEnd {
  readonly method: string;
  readonly mode: PepMode;
  readonly outcome: PepOutcome;
  /** Of a block, and of a call that observe mode forwarded. */
  readonly refusal?: Refusal | undefined;
  readonly decision?: Allowed | RecordedDeny | undefined;
  /** Named on the span only beside a decision, which verified it. */
  readonly credential?: HopCredential | undefined;
  readonly status?: number | undefined;
  /** To the end of the answer, or to the beginning of a stream. Absent if nothing was sent. */
  readonly upstreamMs?: number | undefined;
  /** Total minus upstream. */
  readonly overheadMs: number;
  readonly error?: unknown;
}

/** The only file that maps events to telemetry (docs/reference/telemetry.md#rules). */
export function createEvents(telemetry: Telemetry<"pep">) {
  const { metrics } = telemetry;
  return {
    startCall: (received: RawHeaders) => startCall(telemetry, received),
    /** The modes of the upstreams that are served now. */
    serving(modes: readonly PepMode[]) {
      const isEnforcing = modes.every((mode) => mode === "enforce");
      metrics.set("svc_pep_info", { mode: isEnforcing ? "enforcing" : "observing" });
      metrics.set("svc_pep_up", 1);
    },
    configurationApplied: () => telemetry.emit({ log: ["info", "configuration applied"] }),
    configurationRefused: () => telemetry.emit({ log: ["warn", "configuration refused; the previous one stays"] }),
    toolChanged: () => telemetry.emit({ log: ["warn", "an MCP tool differs from its accepted definition"] }),
    sessionFileRefused: () => telemetry.emit({ log: ["warn", "session file refused; the previous session stays"] }),
    render: (): Promise<{ contentType: string; body: string }> => telemetry.render(),
    async stop() {
      metrics.set("svc_pep_up", 0);
      await telemetry.shutdown();
    },
  };
}

export type Events = ReturnType<typeof createEvents>;

export type CallRecord = ReturnType<typeof startCall>;

/** One proxied request: one span, one outcome. */
function startCall(telemetry: Telemetry<"pep">, received: RawHeaders) {
  const values = (name: string) => {
    const all = valuesOf(received, name);
    return all.length === 0 ? undefined : all;
  };
  const startedAt = spanStart();
  let inbound: InboundTrace = {
    traceparent: values("traceparent"),
    tracestate: values("tracestate"),
    baggage: values("baggage"),
  };
  let opened: Span | undefined;
  const span = () => {
    opened ??= telemetry.startSpan("pep.forward", inbound, startedAt);
    return opened;
  };
  let isFinished = false;
  return {
    /** For requests to the control plane and the upstream. */
    trace: (): TraceHeaders => span().headers(),
    /** The message's own context is the parent where no header brings one. */
    carries(context: InboundTrace | undefined) {
      if (inbound.traceparent === undefined && context?.traceparent !== undefined) inbound = context;
    },
    stage(stage: Stage, durationMs: number) {
      if (stage !== "renew") telemetry.metrics.observe("svc_pep_stage_duration_seconds", { stage }, durationMs / 1000);
    },
    /** Only the first end counts, so that a stream is recorded when it begins. */
    finish(end: CallEnd) {
      if (!isFinished) telemetry.finish(span(), eventOf(telemetry, end));
      isFinished = true;
    },
    /** The agent disconnected before its call was forwarded or blocked: nothing is counted. */
    abandon: () => span().end(),
  };
}

function eventOf(telemetry: Telemetry<"pep">, end: CallEnd) {
  const { method, mode, outcome, refusal, status, overheadMs, upstreamMs, error } = end;
  const isBlocked = outcome === "blocked";
  return {
    facts: idsIn(end),
    spanFacts: (): SpanFacts => ({
      "authz.pep.mode": mode === "enforce" ? "enforcing" : "observing",
      "authz.pep.outcome": outcome,
      "authz.pep.block_cause": refusal?.cause,
      "http.request.method": method,
      "http.response.status_code": status,
      ...decisionFacts(telemetry, end),
    }),
    count: {
      svc_pep_calls_total: { outcome },
      ...(isBlocked && { svc_pep_blocks_total: { cause: refusal?.cause ?? "other" } }),
    },
    observe: {
      svc_pep_overhead_seconds: overheadMs / 1000,
      ...(upstreamMs !== undefined && { svc_pep_stage_duration_seconds: { upstream: upstreamMs / 1000 } }),
    },
    log: logOf(outcome, refusal),
    ...(error !== undefined && { error }),
  };
}

/** Of the decision's record. */
const idsIn = ({ decision, credential }: CallEnd): SpanFacts =>
  decision
    ? {
        "authz.action_id": decision.actionId ?? undefined,
        "authz.session_id": credential?.sessionId,
        "authz.hop": decision.hop,
      }
    : {};

function decisionFacts(telemetry: Telemetry<"pep">, { decision, credential }: CallEnd): SpanFacts {
  if (!decision) return {};
  const denyReason = decision.outcome === "deny" ? decision.denyReason : null;
  // A reason that a newer control plane gave is not named.
  const isKnown = decision.outcome !== "deny" || denyReason !== null;
  const claims = credential && presentedClaims(credential.token);
  return {
    ...(isKnown && verdictFacts(denyReason)),
    ...telemetry.identify({
      agent: decision.actingAgent,
      actChain: claims && actChain(claims),
      taintSource: decision.taintSource,
    }),
    "authz.enforced": decision.enforced,
    "authz.target_kind": decision.targetKind,
    "authz.data_class": isKnown && isDataClassDeclared(denyReason) ? decision.dataClass : undefined,
    "authz.privileged": decision.privileged,
    "authz.taint": decision.taint,
    "authz.policy_version": decision.policyVersion,
    "authz.guarantee_level": decision.guaranteeLevel,
  };
}

const blockMessages = {
  policy: "call blocked: policy",
  pdp_unreachable: "call blocked: decision point unreachable",
  exchange_unreachable: "call blocked: exchange unreachable",
  mint_unreachable: "call blocked: mint unreachable",
  audit_unavailable: "call blocked: decision not recorded",
  unauthorized: "call blocked: unauthorized",
  unresolvable_call: "call blocked: not configured",
  body_too_large: "call blocked: body too large to bind",
  unbindable: "call blocked: body cannot be bound",
  other: "call blocked: unclassified",
} as const satisfies Record<BlockCause, string>;

/** Of observe mode, where a record or the list of unlisted calls shows what happened. */
const forwardedMessages = {
  policy: "call forwarded although the policy denies it",
  unresolvable_call: "call forwarded although nothing is configured for it",
  body_too_large: "call forwarded although its body is too large to bind",
  unbindable: "call forwarded although its body cannot be bound",
} as const satisfies Partial<Record<BlockCause, string>>;

const isReviewable = (cause: BlockCause): cause is keyof typeof forwardedMessages => cause in forwardedMessages;

/** Of `other`: what the operator can correct. */
const otherMessages = {
  rate_limited: "call blocked: the control plane's rate limit",
  shed: "call blocked: too many calls at once",
  pool_full: "call blocked: every renewed token is in use",
  state_unavailable: "call blocked: the state folder cannot be read or written",
  stopping: "call blocked: stopping",
  refused: "call blocked: refused by the control plane",
  redemption_refused: "call blocked: the control plane refuses this enforcement point's token",
} as const satisfies Partial<Record<BlockReason, string>>;

const isOther = (reason: BlockReason): reason is keyof typeof otherMessages => Object.hasOwn(otherMessages, reason);

function logOf(outcome: PepOutcome, { cause = "other", reason }: Partial<Refusal> = {}) {
  if (outcome === "allowed") return ["debug", "call forwarded"] as const;
  if (outcome === "blocked") {
    const message = reason && isOther(reason) ? otherMessages[reason] : blockMessages[cause];
    return [blockLogLevels[cause] as LogLevel, message] as const;
  }
  return isReviewable(cause)
    ? (["info", forwardedMessages[cause]] as const)
    : (["warn", "call forwarded without a decision"] as const);
}
