import { type DestinationStream, destination } from "pino";
import { type Component, type LogLevel, logFields, logLevels } from "./contract.ts";
import type { LogFacts, StaticText } from "./contract-types.ts";
import { checkOf } from "./value-kind.ts";

/** The ids a log line carries of its span. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** Writes one line. `message` is a literal: what varies goes into fields. Without `span` the active one is attached. */
export type Log = <M extends string>(
  level: LogLevel,
  message: M & StaticText<M>,
  facts?: LogFacts,
  span?: SpanIds,
) => void;

/** `Log` for any text; only this package calls it with one that is not a literal. */
export type WriteLog = (level: LogLevel, message: string, facts?: LogFacts, span?: SpanIds) => void;

export interface LogWriterOptions {
  readonly component: Component;
  readonly level: LogLevel;
  /** Receives whole lines; standard output by default. A line whose write throws is lost. */
  readonly destination?: DestinationStream | undefined;
  /** Other processes write to the same standard output, so each write must be one that arrives in one piece. */
  readonly sharesOutput?: boolean | undefined;
  readonly activeSpan?: () => SpanIds | undefined;
  /** Called once for each lost line. */
  readonly onLost?: () => void;
}

const maxBufferedBytes = 1024 * 1024;

/** Whole lines at a time; for an output that is shared no more than a pipe takes in one piece (PIPE_BUF). */
const maxWriteBytes = { alone: 65_536, shared: 4096 } as const;

/** Fewer bytes wait for further lines, since every write wakes two threads. */
const minWriteBytes = { alone: 32_768, shared: 2048 } as const;
const maxWaitMs = 20;

/**
 * Standard output, written asynchronously: a stalled reader costs lines (counted), never a decision, and at most 1 MiB
 * of memory. A line waits at most 20 ms; waiting lines are written at exit, and lost when the process is killed.
 */
function standardOutput(use: "alone" | "shared", onLost: () => void): DestinationStream {
  const stream = destination({
    dest: 1,
    sync: false,
    maxLength: maxBufferedBytes,
    maxWrite: maxWriteBytes[use],
    minLength: minWriteBytes[use],
    contentMode: "buffer",
  });
  // Bytes, since of text the stream counts the bytes of everything that waits with each line. Its types know text alone.
  const write = stream.write.bind(stream) as unknown as (bytes: Uint8Array) => boolean;
  let isClosed = false;
  let isFlushDue = false;
  const flush = (): void => {
    isFlushDue = false;
    if (!isClosed) stream.flush();
  };
  stream.on("drop", onLost);
  // Other errors keep the lines buffered and retry with the next one; a reader that closed does not come back.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    isClosed ||= error.code === "EPIPE";
  });
  return {
    write(line) {
      if (isClosed) return onLost();
      write(Buffer.from(line));
      if (isFlushDue) return;
      isFlushDue = true;
      setTimeout(flush, maxWaitMs).unref();
    },
  };
}

const guarded = (stream: DestinationStream, onLost: () => void): DestinationStream => ({
  write(line) {
    try {
      stream.write(line);
    } catch {
      onLost();
    }
  },
});

const settable = ["authz.session_id", "authz.action_id", "authz.hop", "error.type"] as const;
const fields = settable.map((field) => [field, checkOf(logFields[field]), `,"${field}":`] as const);

/** The members of what the contract admits, which needs no escapes; facts of a span that are no log fields are left out. */
function factMembers(facts: LogFacts): string {
  let members = "";
  for (const [field, isAllowed, start] of fields) {
    const value = facts[field];
    if (value != null && isAllowed(value))
      members += typeof value === "number" ? `${start}${value}` : `${start}"${value}"`;
  }
  return members;
}

const spanMembers = ({ traceId, spanId }: SpanIds): string => `,"trace_id":"${traceId}","span_id":"${spanId}"`;

/** The `time` member of a line, formatted once a millisecond: answers committed together are logged together. */
function isoTime(): () => string {
  let atMs = Number.NaN;
  let text = "";
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) {
      atMs = nowMs;
      text = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return text;
  };
}

/**
 * A line has few members, none of which needs an escape, so it is put together here; pino's stream writes it. With its
 * logger too, the two lines of a hop took 3 us more.
 */
export function createLogWriter(options: LogWriterOptions): WriteLog {
  const { component, level, sharesOutput = false, activeSpan = () => undefined, onLost = () => {} } = options;
  const stream = guarded(options.destination ?? standardOutput(sharesOutput ? "shared" : "alone", onLost), onLost);
  const enabled: ReadonlySet<LogLevel> = new Set(logLevels.slice(logLevels.indexOf(level)));
  const time = isoTime();
  const writer = `,"authz.component":"${component}"`;
  return (at, message, facts, span = activeSpan()) => {
    if (!enabled.has(at)) return;
    const members = `${facts ? factMembers(facts) : ""}${span ? spanMembers(span) : ""}`;
    stream.write(`{"level":"${at}"${time()}${writer}${members},"msg":${JSON.stringify(message)}}\n`);
  };
}

/** Reports a configuration fault at WARNING; setting names, never their values, are written to standard error. */
export type Notice = <M extends string>(message: M & StaticText<M>, settingNames?: readonly string[]) => void;

const settingName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** `writeLine` takes one line of plain text without its end. */
export const createNotice =
  (writeLog: WriteLog, writeLine: (line: string) => void): Notice =>
  (message, settingNames = []) => {
    writeLog("warn", message);
    const names = settingNames.map((name) => (settingName.test(name) ? name : "(not a setting name)"));
    writeLine(names.length === 0 ? `WARNING: ${message}` : `WARNING: ${message}: ${names.join(", ")}`);
  };
