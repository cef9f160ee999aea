import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Admission } from "../decide/admit.ts";
import { watchSession } from "../decide/watch-session.ts";
import { forward } from "../forward/forward.ts";
import { type Carried, credentialHeaders, secretsOf } from "../forward/outbound-credentials.ts";
import type { RelayEnd } from "../forward/relay.ts";
import { decideAgain, type Refusal } from "../guard.ts";
import { acceptsTrailers, requestHeaders } from "../message/headers.ts";
import { answer } from "../message/write-answer.ts";
import { upstreamFaultAnswer } from "../protocols/answers.ts";
import { type ToolListContext, toolListFilter } from "../protocols/mcp/tool-lists.ts";
import type { Called, Placed } from "../resolve/identify-call.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { blockCall, finishCall, type ProxiedCall } from "./proxied-call.ts";
import type { Turn } from "./session-order.ts";

export type Passing = Extract<Admission, { kind: "pass" | "would_block" }>;

/** What a call holds while it is under way. */
export interface Held {
  /** Gives up its place among the calls. */
  readonly leave: () => void;
  readonly turn: Turn;
}

/** Sends an admitted call upstream, streams the answer back and records how it ended. */
export async function sendCall(
  call: ProxiedCall,
  place: Placed,
  called: Called,
  admission: Passing,
  { leave, turn }: Held,
): Promise<void> {
  const { ports, request, response, generation } = call;
  const { upstream, path } = place;
  const lists = await toolListsOf(call, upstream, called);
  const ending = endingOf(call, admission);
  const body = bodyOf(call, ending.mayEnd);
  const headers = headersOf(call, upstream, admission.carried, body, lists);
  const sentMs = ports.monotonicMs();
  const conclude = (end: RelayEnd) => {
    const upstreamMs = ports.monotonicMs() - sentMs;
    concludeCall(call, upstream, called, admission, { end, upstreamMs, refusal: ending.refusal() });
  };
  const stream = eventStreamOf(call, admission, leave);
  const end = await forward(
    generation.dispatcherOf(upstream),
    { method: request.method ?? "", path, headers, body },
    response,
    {
      limits: ports.limits,
      secrets: secretsOf(upstream.credential, admission.carried),
      onSent: turn.sent,
      onAnswered: turn.answered,
      onEventStream(status, close) {
        // Told of at its beginning: it may go on for hours.
        conclude({ kind: "answered", status });
        stream.begin(close);
      },
      filterFor: lists && ((received) => toolListFilter(lists, received)),
    },
  );
  stream.end();
  conclude(end);
}

type SentBody = Buffer | Readable | null;
type MayEnd = (() => Promise<boolean>) | undefined;

function headersOf(
  { request, record }: ProxiedCall,
  upstream: Upstream,
  carried: Carried,
  body: SentBody,
  lists: ToolListContext | undefined,
): string[] {
  return requestHeaders(request.rawHeaders, request.httpVersion, [
    ...["host", upstream.host],
    ...lengthOf(request, body),
    ...(acceptsTrailers(request.rawHeaders) ? ["te", "trailers"] : []),
    // What cannot be read cannot be filtered.
    ...(lists ? ["accept-encoding", "identity"] : []),
    ...Object.entries(record.trace).flat(),
    ...credentialHeaders(upstream.credential, carried),
  ]);
}

function bodyOf({ body, ports }: ProxiedCall, mayEnd: MayEnd): SentBody {
  if (body.isAbsent) return null;
  return body.isWhole ? body.bytes() : body.stream({ idleMs: ports.limits.idleBodyMs, mayEnd });
}

/** A body in memory is measured where it is sent. */
function lengthOf({ headers }: IncomingMessage, body: SentBody): string[] {
  const { "content-length": length } = headers;
  return length === undefined || body === null || Buffer.isBuffer(body) ? [] : ["content-length", length];
}

/** A late body ends only after another allow; in observe mode a deny is recorded and lets it end. */
function endingOf({ ports }: ProxiedCall, admission: Passing) {
  let refusal: Refusal | undefined;
  if (admission.kind !== "pass" || !admission.isBodyLate) return { mayEnd: undefined, refusal: () => undefined };
  const mayEnd = async () => {
    const again = await decideAgain(ports.guard, admission.hop);
    if (again.kind === "refused") refusal = again.refusal;
    return again.kind === "allowed" || (!admission.hop.enforced && refusal?.cause === "policy");
  };
  return { mayEnd, refusal: () => refusal };
}

/** An event stream gives its place among the calls up, takes one among the streams, and is decided again. */
function eventStreamOf({ ports }: ProxiedCall, admission: Passing, leaveCalls: () => void) {
  let leaveStreams: (() => void) | undefined;
  let stopWatching: (() => void) | undefined;
  const begin = (close: () => void) => {
    leaveCalls();
    leaveStreams = ports.streams.enter();
    if (!leaveStreams) return close();
    if (admission.kind !== "pass") return;
    const { hop, grant } = admission;
    stopWatching = watchSession(ports.guard, {
      hop,
      token: grant.accessToken,
      limits: ports.limits,
      now: ports.now,
      close,
    });
  };
  const end = () => {
    leaveStreams?.();
    stopWatching?.();
  };
  return { begin, end };
}

/** Observe mode hides nothing: a tool that would be blocked is forwarded there, and so it is listed. */
async function toolListsOf(
  { ports, presented, request }: ProxiedCall,
  upstream: Upstream,
  { method, id }: Called,
): Promise<ToolListContext | undefined> {
  const isFiltered = upstream.protocol === "mcp" && upstream.filterToolLists && upstream.mode === "enforce";
  if (!isFiltered || !presented.credential) return undefined;
  // A resumed stream may bring the answer to an earlier request.
  if (method !== "tools/list" && request.method !== "GET") return undefined;
  return { upstream, id, allowed: await ports.allowedTools(presented.credential) };
}

interface Sent {
  readonly end: RelayEnd;
  readonly upstreamMs: number;
  readonly refusal: Refusal | undefined;
}

function concludeCall(call: ProxiedCall, upstream: Upstream, called: Called, admission: Passing, sent: Sent): void {
  const { end, upstreamMs } = sent;
  const { mode } = upstream;
  const refusal = admission.kind === "would_block" ? admission.refusal : sent.refusal;
  if (end.kind === "withdrawn") {
    blockCall(call, refusal ?? { cause: "other" }, { mode, id: called.id });
    return;
  }
  finishCall(call, {
    mode,
    upstreamMs,
    refusal,
    outcome: refusal ? "observed_would_block" : "allowed",
    decision: admission.kind === "pass" ? admission.decision : undefined,
    ...answered(call, end),
  });
}

/** The status that the agent saw; where the upstream gave none, that of our own answer. */
function answered({ request, response }: ProxiedCall, end: Exclude<RelayEnd, { kind: "withdrawn" }>) {
  if (end.kind === "gone") return {};
  if (end.kind === "answered") return { status: end.status };
  const { status, error } = end;
  if (status !== undefined) return { status, error };
  const own = upstreamFaultAnswer(end.fault);
  answer(request, response, own);
  return { status: own.status, error };
}
