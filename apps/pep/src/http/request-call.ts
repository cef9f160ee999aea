import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { HopCredential } from "@svc/hop";
import type { Refusal } from "../decide/admit.ts";
import { watchDefinitions } from "../decide/changed-tools.ts";
import { lateBodyOf } from "../decide/decide-again.ts";
import { type AnswerHeaders, answerHeaders } from "../forward/answer-headers.ts";
import { outgoingHeaders, secretsOf } from "../forward/outbound-credentials.ts";
import { forward, type RelayEnd } from "../forward/relay.ts";
import { acceptsTrailers, valuesOf } from "../message/headers.ts";
import { writeAnswer } from "../message/write-answer.ts";
import { upstreamFaultAnswer } from "../protocols/answers.ts";
import type { AllowedTools } from "../protocols/protocol.ts";
import { type RequestLine, resolve } from "../resolve/resolve.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import {
  type AdmittedCall,
  beginCall,
  blockCall,
  blockedAs,
  type Call,
  type CallKind,
  countAsStream,
  type ForwardEnd,
  finishForwarded,
  finishStopped,
  outboundOf,
  type PepPorts,
} from "./call.ts";
import { handleCall } from "./handle-call.ts";

export const requestLineOf = ({ request, own, ports }: Pick<Call, "request" | "own" | "ports">): RequestLine => ({
  method: request.method ?? "",
  target: request.url ?? "",
  hosts: valuesOf(request.rawHeaders, "host"),
  own,
  tunnel: ports.tunnels.authorityOf(request.socket),
});

export function answerHeadersOf({ own }: Call, { resolved, admission }: AdmittedCall): AnswerHeaders {
  const { upstream, path, prefix } = resolved;
  const { origin, hosts, credential, protocol } = upstream;
  const prefixed = prefix === undefined ? undefined : { prefix, origin, hosts, basePath: protocol.basePath, path, own };
  return answerHeaders(secretsOf(credential, admission.taken), prefixed);
}

interface RequestCall extends Call {
  readonly response: ServerResponse;
}

/** Handles a request that is not for the enforcement point itself. Never rejects. */
export function handleRequest(
  ports: PepPorts,
  request: IncomingMessage,
  response: ServerResponse,
  own: ReadonlySet<string>,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const sendContinue = () => {
    // Of HTTP/1.0 the expectation is ignored (RFC 9110 section 10.1.1).
    if (request.headers.expect !== undefined && request.httpVersion !== "1.0") response.writeContinue();
  };
  return handleCall(requests, { ...beginCall(ports, request, own, gone.signal, sendContinue), response });
}

const requests: CallKind<RequestCall> = {
  resolve: (call) => resolve(call.generation.upstreams, requestLineOf(call)),
  answer: ({ request, response }, answer) => writeAnswer(request, response, answer),
  forward: forwardRequest,
};

async function forwardRequest(call: RequestCall, admitted: AdmittedCall): Promise<void> {
  const { ports, request, response, record, generation } = call;
  const { resolved, identified, admission, turn, watch } = admitted;
  const { upstream, path } = resolved;
  const opensAddresses = identified.opensAddresses && identified.method === "initialize";
  const filtering = responseFilterOf(call, admitted);
  const filterFor = filtering && (await filtering);
  const block = (refusal: Refusal) => blockCall(requests, call, refusal, blockedAs(call, admitted));
  const refused = watch.refusal();
  if (refused) return block(refused);
  const lateBody = lateBodyOf(ports.hop, admission, call.body);
  const body = bodyOf(call, lateBody?.mayEnd);
  const headers = outgoingHeaders(request, upstream, record.trace(), outboundOf(call, admitted), [
    ...lengthOf(request, body),
    ...(acceptsTrailers(request.rawHeaders) ? ["te", "trailers"] : []),
    // A compressed answer cannot be filtered.
    ...(filterFor ? ["accept-encoding", "identity"] : []),
  ]);
  const sentMs = ports.monotonicMs();
  const upstreamMs = () => ports.monotonicMs() - sentMs - (lateBody?.decidingMs() ?? 0);
  const finish = (end: UninterruptedEnd) =>
    finishForwarded(call, admitted, { upstreamMs: upstreamMs(), refusal: lateBody?.refusal(), ...answered(call, end) });
  let releaseStream: (() => void) | undefined;
  let stopWatching: (() => void) | undefined;
  const relay = forward(
    generation.dispatcherOf(upstream),
    { method: request.method ?? "", path, headers, body },
    response,
    {
      limits: ports.limits,
      answerHeaders: answerHeadersOf(call, admitted),
      onSent() {
        watch.started();
        turn.sent();
      },
      onAnswered(received) {
        turn.answered();
        if (opensAddresses) ports.eliciting.opened(upstream.name, received);
      },
      onEventStream(status) {
        // Recorded at its beginning: it may last for hours.
        finish({ kind: "answered", status });
        releaseStream = countAsStream(call);
        if (!releaseStream) return void response.destroy();
        stopWatching = watchLists(call, admitted, (event) => relay.insert(event));
      },
      filterFor,
    },
  );
  watch.onEnd((refusal) => relay.stop(lastEventOf(admitted, refusal)));
  const end = await relay.ended;
  releaseStream?.();
  stopWatching?.();
  if (end.kind !== "stopped") return finish(end);
  const refusal = watch.refusal() ?? lateBody?.refusal() ?? { cause: "other" };
  if (end.status === undefined) block(refusal);
  else finishStopped(call, admitted, { refusal, status: end.status, upstreamMs: upstreamMs() });
}

type UninterruptedEnd = Exclude<RelayEnd, { kind: "stopped" }>;

/** A block that is answered in band is an event too: the client that waits for this id learns why its stream ends. */
function lastEventOf({ resolved, identified }: AdmittedCall, refusal: Refusal): string | undefined {
  const { status, body } = resolved.upstream.protocol.blockAnswer(refusal, identified, {});
  return status === 200 ? `data: ${body}\n\n` : undefined;
}

/** In observe mode lists are not filtered: a tool that would be blocked is forwarded there. */
function responseFilterOf({ ports, inbound, request }: RequestCall, { resolved, identified }: AdmittedCall) {
  const { upstream } = resolved;
  const { credential } = inbound;
  if (!credential) return undefined;
  return upstream.protocol.filterFor(identified, request.method, {
    mode: upstream.mode,
    allowedTools: () => allowedToolsOf(ports, credential, inbound.handle === undefined ? [] : scopesBeside(upstream)),
    watch: () => watchDefinitions(ports, upstream, credential),
  });
}

/** A login consents to all of them: the first is the session's own. */
const scopesBeside = ({ resource }: Upstream): readonly string[] => resource?.scopes.slice(1) ?? [];

/** In the caller's own session, and in those beside it. */
async function allowedToolsOf(
  { beside, sessionTargets }: PepPorts,
  credential: HopCredential,
  scopes: readonly string[],
): Promise<AllowedTools | undefined> {
  const others = (await beside?.all(credential, scopes)) ?? [];
  const [own, ...more] = await Promise.all([credential, ...others].map((each) => sessionTargets.read(each)));
  if (!own || more.length === 0) return own?.allowed;
  const allowed = new Map(own.allowed);
  for (const [target, classes] of more.flatMap((each) => [...(each?.allowed ?? [])])) {
    allowed.set(target, [...(allowed.get(target) ?? []), ...classes]);
  }
  return allowed;
}

/** A client that listens learns that its lists changed, also where the upstream's did not. */
function watchLists(
  { ports, inbound, request }: RequestCall,
  { resolved, identified }: AdmittedCall,
  insert: (event: string) => void,
): (() => void) | undefined {
  const { upstream } = resolved;
  const messages = upstream.protocol.listChanges(identified, request.method);
  if (upstream.mode !== "enforce" || messages.length === 0 || !inbound.credential) return undefined;
  const events = messages.map((message) => `event: message\ndata: ${message}\n\n`).join("");
  return ports.watchAllowedTools(inbound.credential, () => insert(events));
}

type SentBody = Buffer | Readable | null;

function bodyOf({ body, ports }: Call, mayEnd: (() => Promise<boolean>) | undefined): SentBody {
  if (body.isAbsent) return null;
  return body.isWhole() ? body.bytes() : body.stream({ idleMs: ports.limits.idleBodyMs, mayEnd });
}

/** A body in memory is measured where it is sent. */
function lengthOf({ headers }: IncomingMessage, body: SentBody): string[] {
  const { "content-length": length } = headers;
  return length === undefined || body === null || Buffer.isBuffer(body) ? [] : ["content-length", length];
}

/** Answers if the upstream did not, and returns the status that the agent received. */
function answered(call: RequestCall, end: UninterruptedEnd): Pick<ForwardEnd, "status" | "error"> {
  if (end.kind === "gone") return {};
  if (end.kind === "answered") return { status: end.status };
  if (end.kind === "replaced") {
    requests.answer(call, end.answer);
    return { status: end.answer.status };
  }
  const { status, error } = end;
  if (status !== undefined) return { status, error };
  const answer = upstreamFaultAnswer(end.fault);
  requests.answer(call, answer);
  return { status: answer.status, error };
}
