import type { IncomingMessage } from "node:http";
import type { HopCredential } from "@svc/hop";
import type { AdmitPorts, Passing, Refusal } from "../decide/admit.ts";
import type { CallsUnderWay } from "../decide/calls-under-way.ts";
import type { Watch } from "../decide/decide-again.ts";
import type { Handles } from "../decide/handles.ts";
import { type InboundCredentials, presentsBearer, readInboundCredentials } from "../decide/inbound-credentials.ts";
import type { SessionTargetStore } from "../decide/session-targets.ts";
import { sessionEnds } from "../decide/take-beside.ts";
import type { ToolDefinitions } from "../decide/tool-definitions.ts";
import type { UnlistedCalls } from "../decide/unlisted-calls.ts";
import type { CallEnd, CallRecord, Events } from "../events.ts";
import type { OutboundCredentials } from "../forward/outbound-credentials.ts";
import type { Limits } from "../limits.ts";
import type { Reachable } from "../local/reachable.ts";
import type { TerminatedTunnels } from "../local/terminated-tunnels.ts";
import type { UnlistedHosts } from "../local/unlisted-hosts.ts";
import { valuesInAnySpelling } from "../message/headers.ts";
import { type RequestBody, requestBody } from "../message/request-body.ts";
import type { Answer } from "../message/write-answer.ts";
import type { PepMode } from "../modes.ts";
import { httpBlockAnswer } from "../protocols/answers.ts";
import { blockedFor } from "../protocols/blocks.ts";
import type { AnswerContext, IdentifiedCall } from "../protocols/protocol.ts";
import type { Resolution, Resolved } from "../resolve/resolve.ts";
import type { Generation, LiveUpstreams } from "../upstreams/configured-upstreams.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { ElicitingSessions } from "./client-capabilities.ts";
import type { SessionOrder, Turn } from "./session-order.ts";

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

/** Slots for calls under way. A call without a slot is shed at once, not queued. */
export function createConcurrencyLimiter(slots: number) {
  let inUse = 0;
  return {
    /** Returns the slot's release, which is idempotent; undefined: every slot is in use. */
    tryAcquire(): (() => void) | undefined {
      if (inUse >= slots) return undefined;
      inUse += 1;
      let isHeld = true;
      return () => {
        if (isHeld) inUse -= 1;
        isHeld = false;
      };
    },
  };
}

export interface PepPorts extends AdmitPorts {
  readonly upstreams: LiveUpstreams;
  /** The session of an agent that presents none. */
  readonly ambient: () => HopCredential | undefined;
  readonly events: Events;
  readonly limits: Limits;
  readonly calls: ConcurrencyLimiter;
  /** For what outlasts a call: event streams, WebSockets and tunnels. */
  readonly streams: ConcurrencyLimiter;
  readonly order: SessionOrder;
  readonly unlisted: UnlistedCalls;
  readonly unlistedHosts: UnlistedHosts;
  readonly tunnels: TerminatedTunnels;
  /** Where calls to hosts that no upstream lists may go; undefined: they are refused. */
  readonly otherHosts: Reachable | undefined;
  /** Calls back when what the caller may call changes. @returns ends it */
  readonly watchAllowedTools: (credential: HopCredential, onChange: () => void) => () => void;
  readonly sessionTargets: SessionTargetStore;
  readonly eliciting: ElicitingSessions;
  /** Undefined: no upstream can be a protected resource. */
  readonly handles: Handles | undefined;
  readonly definitions: ToolDefinitions;
  readonly underWay: CallsUnderWay;
  /** A decision found the session over. */
  readonly onSessionEnd: (sessionId: string) => void;
  /** Of a request that names no upstream. */
  readonly defaultMode: PepMode;
  readonly monotonicMs: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A request, a WebSocket or a tunnel of an agent. */
export interface Call {
  readonly ports: PepPorts;
  readonly request: IncomingMessage;
  /** How this listener's own address may be spelled, on the call's connection. */
  readonly own: ReadonlySet<string>;
  readonly body: RequestBody;
  /** The configuration that the call began with. */
  readonly generation: Generation;
  readonly record: CallRecord;
  readonly inbound: InboundCredentials;
  /** Aborts when the agent disconnects. */
  readonly signal: AbortSignal;
  readonly startedMs: number;
  /** Undefined: every slot for calls is in use. Idempotent. */
  readonly releaseSlot: (() => void) | undefined;
}

/** The parts of a call that differ between requests, WebSockets and tunnels. */
export interface CallKind<C extends Call> {
  resolve(call: C): Resolution;
  /** Sends an answer of our own to the agent. */
  answer(call: C, answer: Answer): void;
  /** Forwards an admitted call; resolves when it is over. */
  forward(call: C, admitted: AdmittedCall): Promise<void>;
}

export interface AdmittedCall {
  readonly resolved: Resolved;
  readonly identified: IdentifiedCall;
  readonly admission: Passing;
  readonly turn: Turn;
  /** Ends with the call. */
  readonly watch: Watch;
}

/** @param beforeReading see `requestBody` */
export const beginCall = (
  ports: PepPorts,
  request: IncomingMessage,
  own: ReadonlySet<string>,
  signal: AbortSignal,
  beforeReading: () => void,
): Call => ({
  ports,
  request,
  own,
  body: requestBody(request, beforeReading),
  generation: ports.upstreams.acquire(),
  record: ports.events.startCall(request.rawHeaders),
  inbound: readInboundCredentials(request.rawHeaders, ports.ambient()),
  signal,
  startedMs: ports.monotonicMs(),
  releaseSlot: ports.calls.tryAcquire(),
});

export const outboundOf = (call: Call, { admission }: AdmittedCall): OutboundCredentials => ({
  inbound: call.inbound,
  taken: admission.taken,
  under: decidedUnder(call, admission),
  isDecided: (admission.taken ?? admission.refusal)?.decision !== undefined,
});

interface BlockedCall {
  readonly upstream?: Upstream;
  readonly identified?: IdentifiedCall;
  readonly error?: unknown;
  /** The session that was decided in, where it is not the call's own. */
  readonly under?: HopCredential | undefined;
}

/** A call that was admitted, and is not forwarded any more. */
export const blockedAs = (call: Call, admitted: AdmittedCall): BlockedCall => ({
  upstream: admitted.resolved.upstream,
  identified: admitted.identified,
  under: decidedUnder(call, admitted.admission),
});

const decidedUnder = ({ inbound }: Call, admission: Passing): HopCredential | undefined =>
  (admission.kind === "pass" ? admission.hop.credential : admission.under) ?? inbound.credential;

/** A 404 would tell an MCP client that its session is gone (MCP 2025-11-25, Session Management). */
const carriesSession = ({ rawHeaders }: IncomingMessage): boolean =>
  valuesInAnySpelling(rawHeaders, "mcp-session-id").length > 0;

/** Of a session that ended: on a 401 alone an OAuth client refreshes its access token, or logs in again. */
const forOAuthClient = (refusal: Refusal): Refusal =>
  endsSession(refusal) ? { ...refusal, ...blockedFor("session_ended") } : refusal;

/** Answers a call that is not forwarded, and records it. */
export function blockCall<C extends Call>(kind: CallKind<C>, call: C, given: Refusal, blocked: BlockedCall = {}): void {
  const { credential, handle } = call.inbound;
  const { upstream, identified = {}, error, under = credential } = blocked;
  const isOfHandle = handle !== undefined && under === credential;
  const refusal = isOfHandle ? forOAuthClient(given) : given;
  if (isOfHandle && credential && refusal.cause === "unauthorized") call.ports.handles?.forget(credential);
  const context: AnswerContext = {
    allowed: credential && call.ports.sessionTargets.knownOf(credential)?.allowed,
    resource: upstream?.resource,
    opensAddresses: upstream !== undefined && call.ports.eliciting.has(upstream.name, call.request.rawHeaders),
    hasBearer: presentsBearer(call.request.rawHeaders),
  };
  const own = upstream
    ? upstream.protocol.blockAnswer(refusal, identified, context)
    : httpBlockAnswer(refusal, identified, context);
  const answer = own.status === 404 && carriesSession(call.request) ? { ...own, status: 400 } : own;
  kind.answer(call, answer);
  const mode = upstream?.mode ?? call.ports.defaultMode;
  finishCall(call, { mode, outcome: "blocked", refusal, status: answer.status, error, credential: under });
}

/** Records a call that was ended after the agent had received the head of an answer. */
export function finishStopped(
  call: Call,
  { resolved, admission }: AdmittedCall,
  end: { readonly refusal: Refusal; readonly status: number; readonly upstreamMs: number },
): void {
  const credential = decidedUnder(call, admission);
  finishCall(call, { ...end, mode: resolved.upstream.mode, outcome: "blocked", credential });
}

/** The agent disconnected or stopped sending: nothing is answered and nothing is counted. */
export function abandonCall({ request, record }: Call): void {
  request.destroy();
  record.abandon();
}

/** `refusal`: of a decision made while the call was forwarded. `status`: undefined if the agent received no answer. */
export type ForwardEnd = Pick<CallEnd, "status" | "error" | "refusal"> & { readonly upstreamMs: number };

/** Records the end of a forwarded call. Only the first end counts. */
export function finishForwarded(call: Call, { resolved, admission }: AdmittedCall, end: ForwardEnd): void {
  const refusal = admission.refusal ?? end.refusal;
  finishCall(call, {
    ...end,
    mode: resolved.upstream.mode,
    outcome: refusal ? "observed_would_block" : "allowed",
    refusal,
    decision: refusal?.decision ?? admission.taken?.decision,
    credential: decidedUnder(call, admission),
  });
}

function finishCall(
  { ports, request, body, record, startedMs }: Call,
  end: Omit<CallEnd, "method" | "overheadMs">,
): void {
  if (end.credential && endsSession(end.refusal)) ports.onSessionEnd(end.credential.sessionId);
  record.finish({
    ...end,
    decision: end.decision ?? end.refusal?.decision,
    method: request.method ?? "",
    // Neither the upstream's time nor the agent's own: only what is added.
    overheadMs: ports.monotonicMs() - startedMs - body.awaitedMs() - (end.upstreamMs ?? 0),
  });
}

const endsSession = (refusal: Refusal | undefined): boolean =>
  refusal?.decision?.outcome === "deny" && sessionEnds.includes(refusal.decision.denyReason);

/** Counts a call as a stream instead. @returns the stream's release; undefined: every slot is in use */
export function countAsStream({ ports, releaseSlot }: Call): (() => void) | undefined {
  releaseSlot?.();
  return ports.streams.tryAcquire();
}
