import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { countBodyBytes } from "./minor-gc.ts";

/** The agent disconnected, or sent nothing for too long, while its body was sent upstream. */
export class AgentGone extends Error {
  override readonly name = "AgentGone";
}

/** A later decision forbids the body to end. */
export class BodyWithdrawn extends Error {
  override readonly name = "BodyWithdrawn";
}

export interface StreamOptions {
  /** Milliseconds that the agent may send nothing. */
  readonly idleMs: number;
  /**
   * Called before the body ends upstream, with the bytes that complete a declared length. False destroys the stream: the
   * upstream gets no complete body.
   */
  readonly mayEnd?: (() => Promise<boolean>) | undefined;
}

/**
 * Streams a request's body upstream: the bytes read so far, then the rest. An upstream that fails destroys this stream
 * and not the agent's connection, which still waits for an answer.
 */
export function streamedBody(
  request: IncomingMessage,
  { chunks, hasEnded }: { readonly chunks: readonly Buffer[]; readonly hasEnded: boolean },
  { idleMs, mayEnd }: StreamOptions,
): Readable {
  const waiting = [...chunks];
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  let leftBytes = coding === undefined ? Number(length) : Number.POSITIVE_INFINITY;
  let isComplete = hasEnded;
  let isEnding = false;
  let idle: NodeJS.Timeout | undefined;
  const arm = () => {
    if (idle) idle.refresh();
    else idle = setTimeout(() => body.destroy(new AgentGone()), idleMs);
  };
  const disarm = () => {
    clearTimeout(idle);
    idle = undefined;
  };

  const onData = (chunk: Buffer) => {
    waiting.push(chunk);
    countBodyBytes(chunk.length);
    arm();
    pass();
  };
  const onEnd = () => {
    isComplete = true;
    disarm();
    pass();
  };
  const onClose = () => {
    if (!request.complete) body.destroy(new AgentGone());
  };

  const end = async () => {
    if (isEnding) return;
    isEnding = true;
    if (mayEnd && !(await mayEnd())) body.destroy(new BodyWithdrawn());
    if (body.destroyed) return;
    for (const chunk of waiting.splice(0)) body.push(chunk);
    body.push(null);
  };

  /** The bytes that complete a declared length are its end. */
  const isEnd = (chunk: Buffer) => mayEnd !== undefined && chunk.length >= leftBytes;
  /** Passes on as much as the upstream takes, and of a body that may not end yet all but its end. */
  const pass = () => {
    for (let chunk = waiting[0]; chunk && !isEnd(chunk); chunk = waiting[0]) {
      waiting.shift();
      leftBytes -= chunk.length;
      if (!body.push(chunk)) return wait();
    }
    if (isComplete) end().catch((error) => body.destroy(error));
    else request.resume();
  };
  /** The upstream is behind: the agent's idle time does not count. */
  const wait = () => {
    request.pause();
    disarm();
  };

  const body = new Readable({
    read() {
      if (!isComplete) arm();
      pass();
    },
    destroy(error, done) {
      disarm();
      request.pause().off("data", onData).off("end", onEnd).off("close", onClose);
      done(error);
    },
  });
  if (!hasEnded) request.on("data", onData).on("end", onEnd).on("close", onClose);
  return body;
}
