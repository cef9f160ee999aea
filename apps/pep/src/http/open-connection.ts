import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Admission, admit } from "../decide/admit.ts";
import { settleBody } from "../decide/settle-body.ts";
import { watchSession } from "../decide/watch-session.ts";
import { blockedDecision, type Refusal } from "../guard.ts";
import { requestBody } from "../message/request-body.ts";
import { answerOnSocket } from "../message/write-answer.ts";
import { blockAnswer, type UpstreamFault, upstreamFaultAnswer } from "../protocols/answers.ts";
import type { CallTarget } from "../protocols/routes.ts";
import type { PepMode, Upstream, Upstreams } from "../upstreams/upstream.ts";
import type { PepPorts } from "./ports.ts";
import { beginFacts, type CallFacts, finishCall } from "./proxied-call.ts";

/** Where a connection is to lead. */
export interface Destination<U extends Upstream = Upstream> {
  readonly upstream: U;
  /** Undefined where nothing says what it is. */
  readonly call: CallTarget | undefined;
}

export type PassingConnection = Extract<Admission, { kind: "pass" | "would_block" }>;

/** An admitted connection, for whoever makes it. Exactly one of the two is called. */
export interface Opening<D extends Destination> {
  readonly destination: D;
  readonly admission: PassingConnection;
  readonly facts: CallFacts;
  /** From now on whoever makes the connection reads the agent's side itself. To be called before it does. */
  handOver(): void;
  /** It stands; `close` cuts both sides. */
  opened(status: number, close: () => void): void;
  failed(fault: UpstreamFault, error: Error): void;
}

/**
 * Decides on a connection that outlasts its request, before a byte of it goes upstream: an upgrade or a tunnel. Once it
 * stands it is decided again like a stream. Never rejects.
 */
export async function openConnection<D extends Destination>(
  ports: PepPorts,
  request: IncomingMessage,
  socket: Duplex,
  destinationIn: (upstreams: Upstreams) => D | undefined,
  connect: (opening: Opening<D>) => void,
): Promise<void> {
  const gone = new AbortController();
  const leave = ports.calls.enter();
  const facts = beginFacts(ports, request, gone.signal);
  const handOver = noticeEnd(socket);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => {
    gone.abort();
    leave?.();
    facts.generation.release();
  });
  const block = (
    refusal: Refusal,
    mode: PepMode,
    { shed = false, error }: { shed?: boolean; error?: unknown } = {},
  ) => {
    const decision = blockedDecision(refusal);
    const sent = blockAnswer({ cause: refusal.cause, shed, ...(decision && { decision }) });
    answerOnSocket(socket, sent);
    finishCall(facts, { mode, outcome: "blocked", refusal, status: sent.status, error });
  };
  const other = { cause: "other" } as const;
  try {
    if (!leave) return block(other, ports.defaultMode, { shed: true });
    const destination = destinationIn(facts.generation.upstreams);
    const admission = await admitTo(facts, destination);
    if (admission.kind === "gone") return facts.record.abandon();
    if (admission.kind === "blocked") return block(admission.refusal, destination?.upstream.mode ?? ports.defaultMode);
    if (destination) connect(openingOf(facts, socket, destination, admission, { leave, handOver }));
  } catch (error) {
    block(other, ports.defaultMode, { error });
  }
}

function admitTo(facts: CallFacts, destination: Destination | undefined): Promise<Admission> | Admission {
  const { ports, request, record, presented, signal } = facts;
  if (!destination) {
    return { kind: "blocked", refusal: { cause: presented.credential ? "unresolvable_call" : "unauthorized" } };
  }
  // No body that could be bound: a privileged target refuses it.
  const body = requestBody(request, () => {});
  const headers = { contentType: undefined, contentEncoding: undefined };
  return admit(ports, record, {
    ...destination,
    presented,
    signal,
    settleBody: (decision) => settleBody(decision, body, headers, ports.limits),
  });
}

function openingOf<D extends Destination>(
  facts: CallFacts,
  socket: Duplex,
  destination: D,
  admission: PassingConnection,
  { leave, handOver }: { leave: () => void; handOver: () => void },
): Opening<D> {
  const { ports } = facts;
  const { mode } = destination.upstream;
  const askedMs = ports.monotonicMs();
  const finish = (status?: number, error?: Error) =>
    finishCall(facts, {
      mode,
      outcome: admission.kind === "pass" ? "allowed" : "observed_would_block",
      refusal: admission.kind === "would_block" ? admission.refusal : undefined,
      decision: admission.kind === "pass" ? admission.decision : undefined,
      status,
      upstreamMs: ports.monotonicMs() - askedMs,
      error,
    });
  // An agent that goes away before its connection stands was let through all the same.
  socket.once("close", () => finish());
  return {
    destination,
    admission,
    facts,
    handOver,
    opened(status, close) {
      finish(status);
      leave();
      const leaveStreams = ports.streams.enter();
      if (!leaveStreams) return close();
      const stop = watch(facts, admission, close);
      socket.once("close", () => {
        stop();
        leaveStreams();
      });
    },
    failed(fault, error) {
      const sent = upstreamFaultAnswer(fault);
      answerOnSocket(socket, sent);
      finish(sent.status, error);
    },
  };
}

/**
 * Nobody reads a socket that was handed out of the HTTP server, so nobody learns that its agent went away. This reads no
 * more than fits in its buffer, and takes none of it.
 *
 * @returns how to stop
 */
function noticeEnd(socket: Duplex): () => void {
  const look = () => {
    if (socket.readableLength === 0) socket.read();
  };
  const onEnd = () => socket.destroy();
  socket.on("readable", look).on("end", onEnd);
  return () => socket.off("readable", look).off("end", onEnd);
}

function watch({ ports }: CallFacts, admission: PassingConnection, close: () => void): () => void {
  if (admission.kind !== "pass") return () => {};
  const { hop, grant } = admission;
  return watchSession(ports.guard, { hop, token: grant.accessToken, limits: ports.limits, now: ports.now, close });
}
