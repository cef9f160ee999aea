import type { IncomingMessage, ServerResponse } from "node:http";
import { type Presented, presentedIn } from "../decide/inbound-credentials.ts";
import type { CallEnd, CallRecord } from "../events.ts";
import { blockedDecision, type Refusal } from "../guard.ts";
import { type RequestBody, requestBody } from "../message/request-body.ts";
import { answer } from "../message/write-answer.ts";
import { blockAnswer } from "../protocols/answers.ts";
import type { JsonRpcId } from "../protocols/mcp/message.ts";
import type { Generation } from "../upstreams/live-upstreams.ts";
import type { PepMode } from "../upstreams/upstream.ts";
import type { PepPorts } from "./ports.ts";

/** What belongs to any call: a request, an upgrade or a tunnel. */
export interface CallFacts {
  readonly ports: PepPorts;
  readonly request: IncomingMessage;
  readonly generation: Generation;
  readonly record: CallRecord;
  readonly presented: Presented;
  /** Aborts when the agent goes away. */
  readonly signal: AbortSignal;
  readonly startedMs: number;
}

/** One proxied request. */
export interface ProxiedCall extends CallFacts {
  readonly response: ServerResponse;
  readonly body: RequestBody;
}

export const beginFacts = (ports: PepPorts, request: IncomingMessage, signal: AbortSignal): CallFacts => ({
  ports,
  request,
  generation: ports.upstreams.acquire(),
  record: ports.events.startCall(request.rawHeaders),
  presented: presentedIn(request.rawHeaders, ports.ambient()),
  signal,
  startedMs: ports.monotonicMs(),
});

export function beginCall(ports: PepPorts, request: IncomingMessage, response: ServerResponse): ProxiedCall {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const sendContinue = () => {
    // Of HTTP/1.0 the expectation is ignored (RFC 9110 section 10.1.1).
    if (request.headers.expect !== undefined && request.httpVersion !== "1.0") response.writeContinue();
  };
  const body = requestBody(request, sendContinue);
  return { ...beginFacts(ports, request, gone.signal), response, body };
}

export interface BlockOptions {
  readonly mode: PepMode;
  /** Of the JSON-RPC request that waits for an answer. */
  readonly id?: JsonRpcId | undefined;
  readonly shed?: boolean;
  readonly error?: unknown;
}

/** Answers a call that goes no further, and records it. */
export function blockCall(call: ProxiedCall, refusal: Refusal, { mode, id, shed = false, error }: BlockOptions): void {
  const { request, response } = call;
  const decision = blockedDecision(refusal);
  const sent = blockAnswer({ cause: refusal.cause, shed, ...(decision && { decision }) }, id);
  answer(request, response, sent);
  finishCall(call, { mode, outcome: "blocked", refusal, status: sent.status, error });
}

type EndFacts = Pick<CallEnd, "mode" | "outcome" | "refusal" | "decision" | "status" | "error" | "upstreamMs">;

export function finishCall({ ports, request, record, presented, startedMs }: CallFacts, end: EndFacts): void {
  record.finish({
    ...end,
    decision: end.decision ?? end.refusal?.decision,
    credential: presented.credential,
    method: request.method ?? "",
    overheadMs: ports.monotonicMs() - startedMs - (end.upstreamMs ?? 0),
  });
}
