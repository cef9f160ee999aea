import type { IncomingMessage } from "node:http";
import type { Passing } from "../decide/admit.ts";
import { type InboundCredentials, readInboundCredentials } from "../decide/inbound-credentials.ts";
import type { Refusal } from "../decide/refusal.ts";
import { watchSession } from "../decide/watch-session.ts";
import type { CallEnd, CallRecord } from "../events.ts";
import { type RequestBody, requestBody } from "../message/request-body.ts";
import type { Answer } from "../message/write-answer.ts";
import { httpBlockAnswer } from "../protocols/answers.ts";
import type { IdentifiedCall, MessageId } from "../protocols/protocol.ts";
import type { Resolution, Resolved } from "../resolve/resolve.ts";
import type { Generation } from "../upstreams/live-upstreams.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { PepPorts } from "./ports.ts";
import type { Turn } from "./session-order.ts";

/** What an agent asked for: a request, a WebSocket or a tunnel. */
export interface Call {
  readonly ports: PepPorts;
  readonly request: IncomingMessage;
  readonly body: RequestBody;
  /** The configuration that the call began with. */
  readonly generation: Generation;
  readonly record: CallRecord;
  readonly inbound: InboundCredentials;
  /** Aborts when the agent goes away. */
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
  /** Called when the call is over, however it ended. */
  end?(call: C): void;
}

export interface AdmittedCall {
  readonly resolved: Resolved;
  readonly identified: IdentifiedCall;
  readonly admission: Passing;
  readonly turn: Turn;
}

/** @param beforeReading see `requestBody` */
export const beginCall = (
  ports: PepPorts,
  request: IncomingMessage,
  signal: AbortSignal,
  beforeReading: () => void,
): Call => ({
  ports,
  request,
  body: requestBody(request, beforeReading),
  generation: ports.upstreams.acquire(),
  record: ports.events.startCall(request.rawHeaders),
  inbound: readInboundCredentials(request.rawHeaders, ports.ambient()),
  signal,
  startedMs: ports.monotonicMs(),
  releaseSlot: ports.calls.tryAcquire(),
});

export interface BlockFacts {
  /** Undefined: no upstream was found. */
  readonly upstream?: Upstream | undefined;
  readonly id?: MessageId | undefined;
  readonly shed?: boolean;
  readonly error?: unknown;
}

/** Answers a call that is not forwarded, and records it. */
export function blockCall<C extends Call>(kind: CallKind<C>, call: C, refusal: Refusal, facts: BlockFacts = {}): void {
  const { upstream, id, shed = false, error } = facts;
  const block = { ...refusal, shed };
  const answer = upstream ? upstream.protocol.blockAnswer(block, id) : httpBlockAnswer(block);
  kind.answer(call, answer);
  const mode = upstream?.mode ?? call.ports.defaultMode;
  finishCall(call, { mode, outcome: "blocked", refusal, status: answer.status, error });
}

/** The agent went away, or stopped sending: nothing is answered and nothing is counted. */
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
    decision: admission.taken?.decision,
  });
}

function finishCall(
  { ports, request, record, inbound, startedMs }: Call,
  end: Omit<CallEnd, "method" | "credential" | "overheadMs">,
): void {
  record.finish({
    ...end,
    decision: end.decision ?? end.refusal?.decision,
    credential: inbound.credential,
    method: request.method ?? "",
    overheadMs: ports.monotonicMs() - startedMs - (end.upstreamMs ?? 0),
  });
}

/**
 * Counts a call that outlasts its answer's head as a stream instead, and has it decided again until its end.
 *
 * @returns stops both; to be called when the stream is over
 */
export function watchCall({ ports, releaseSlot }: Call, { admission }: AdmittedCall, close: () => void): () => void {
  releaseSlot?.();
  const releaseStream = ports.streams.tryAcquire();
  if (!releaseStream) {
    close();
    return () => {};
  }
  if (admission.kind !== "pass") return releaseStream;
  const { hop, taken } = admission;
  const { limits, now } = ports;
  const stopWatching = watchSession(ports.hop, { hop, token: taken.token.accessToken, limits, now, close });
  return () => {
    stopWatching();
    releaseStream();
  };
}
