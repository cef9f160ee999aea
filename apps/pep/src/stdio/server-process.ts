import { type AnswerSink, eventOf, streamHeaders } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { lineReader } from "./line-reader.ts";
import { type Message, type MessageId, onOneLine, readMessage } from "./message.ts";
import { startProcessGroup } from "./process-group.ts";
import type { StdioServer } from "./settings.ts";

/** How the process is spoken to. `undecided`: nothing was sent to it but `server/discover`. */
export type Era = "undecided" | "initialize" | "stateless";

export interface ServerProcessPorts {
  readonly monotonicMs: () => number;
  /** Bytes on its standard output that are no message a client may get. */
  readonly onNoise: (bytes: number) => void;
  readonly onStderr: (chunk: Buffer) => void;
  /** Called once, as soon as it takes no more calls. */
  readonly onEnd: (why: string) => void;
}

export type ServerProcess = ReturnType<typeof startServerProcess>;

export const maxLineBytes = 10 * 1024 * 1024;
/** Of messages that a server sends while its client has neither a stream nor a request open. */
const maxHeld = 256;

const lineFeed = Buffer.from("\n");
const carriageReturn = 0x0d;
const keyOf = (id: MessageId | undefined): string => JSON.stringify(id ?? null);

/** One process of a server, with the requests under way at it. Messages pass as the bytes that were written. */
export function startServerProcess(server: StdioServer, ports: ServerProcessPorts) {
  const { monotonicMs, onNoise, onStderr, onEnd } = ports;
  const callers = new Map<string, Caller>();
  let stream: AnswerSink | undefined;
  let held: Buffer[] = [];
  let era: Era = "undecided";
  let usedMs = monotonicMs();
  let hasEnded = false;

  const end = (why: string): Promise<void> => {
    if (hasEnded) return group.end();
    hasEnded = true;
    onEnd(why);
    for (const caller of callers.values()) caller.failed(`the server of upstream ${server.name} ${why}`);
    callers.clear();
    stream?.end();
    stream = undefined;
    return group.end();
  };
  const write = (message: Uint8Array) => {
    usedMs = monotonicMs();
    group.write(Buffer.concat([onOneLine(message), lineFeed]));
  };

  /** The request that a message of the server belongs to. */
  const callerOf = ({ method, progressToken, requestId }: Message): Caller | undefined => {
    if (method === "notifications/progress") {
      return [...callers.values()].find(({ request }) => request.progressToken === progressToken);
    }
    const named = era === "stateless" && requestId !== undefined ? callers.get(keyOf(requestId)) : undefined;
    // Over stdio nothing else says which request a message belongs to.
    return named ?? (stream ? undefined : [...callers.values()].at(-1));
  };
  const pass = (message: Message, line: Buffer) => {
    const caller = callerOf(message);
    if (caller) return caller.event(line);
    if (stream) return stream.write(eventOf(line));
    if (era === "initialize" && message.method !== "notifications/progress" && held.length < maxHeld) held.push(line);
  };
  const receive = (bytes: Buffer) => {
    if (hasEnded) return;
    const message = readMessage(bytes);
    // A stateless server sends no requests (MCP 2026-07-28, stdio).
    if (!message || (message.kind === "request" && era !== "initialize")) return onNoise(bytes.length);
    usedMs = monotonicMs();
    const line = onOneLine(bytes);
    if (message.kind !== "answer") return pass(message, line);
    const key = keyOf(message.id);
    const caller = callers.get(key);
    callers.delete(key);
    caller?.answered(line, message.errorCode);
  };
  const lines = lineReader(maxLineBytes, {
    line: (bytes) => receive(bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes),
    tooLong: () => void end(`wrote a line over ${maxLineBytes / 1024 / 1024} MiB and was ended`),
  });
  const group = startProcessGroup(server, {
    stdout: lines.push,
    stderr: onStderr,
    ended: (how) => void end(how),
  });

  return {
    pid: group.pid,
    era: () => era,
    setEra(next: Era): void {
      era = next;
    },
    hasEnded: () => hasEnded,
    /** No call is under way and no stream is open. */
    isIdle: () => callers.size === 0 && stream === undefined,
    /** When it last sent or received a message. */
    usedMs: () => usedMs,
    /** Whether a request can be told apart from those under way. */
    admits({ id, progressToken }: Message): boolean {
      const isTaken = ({ request }: Caller) => progressToken !== undefined && request.progressToken === progressToken;
      return !callers.has(keyOf(id)) && ![...callers.values()].some(isTaken);
    },
    call(caller: Caller, message: Uint8Array): void {
      callers.set(keyOf(caller.request.id), caller);
      write(message);
    },
    /** The caller is gone. A handshake cannot be cancelled, so it ends the process (MCP: Cancellation). */
    cancel({ request: { id, method } }: Caller): void {
      if (!callers.delete(keyOf(id))) return;
      if (method === "initialize") return void end("lost its client");
      const params = { requestId: id, reason: "the client disconnected" };
      write(Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })));
    },
    /** Sends what needs no answer. */
    send: write,
    /** The client itself cancelled a request, which its server then leaves unanswered. */
    settleCancelled(id: MessageId | undefined): void {
      const caller = callers.get(keyOf(id));
      callers.delete(keyOf(id));
      caller?.cancelled();
    },
    /** Of a client that listens: messages that belong to no request. @returns false: another stream is open */
    openStream(answer: AnswerSink): boolean {
      if (stream) return false;
      stream = answer;
      answer.head(200, streamHeaders);
      for (const line of held) answer.write(eventOf(line));
      held = [];
      answer.onGone(() => {
        stream = undefined;
        usedMs = monotonicMs();
      });
      return true;
    },
    end,
  };
}
