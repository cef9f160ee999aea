import { type DestinationStream, destination, pino } from "pino";
import { type Component, type LogLevel, logFields } from "./contract.ts";
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
const checks = settable.map((field) => [field, checkOf(logFields[field])] as const);

type Fields = Record<string, string | number>;

/** Copies what the contract admits; facts of a span that are no log fields are left out. */
function toFields(facts: LogFacts | undefined, span: SpanIds | undefined): Fields {
  const fields: Fields = {};
  for (const [field, isAllowed] of facts ? checks : []) {
    const value = facts?.[field];
    if (value != null && isAllowed(value)) fields[field] = value;
  }
  if (span) {
    fields.trace_id = span.traceId;
    fields.span_id = span.spanId;
  }
  return fields;
}

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

export function createLogWriter(options: LogWriterOptions): WriteLog {
  const { component, level, sharesOutput = false, activeSpan = () => undefined, onLost = () => {} } = options;
  const lines = pino(
    {
      level,
      base: { "authz.component": component },
      timestamp: isoTime(),
      formatters: { level: (label) => ({ level: label }) },
    },
    guarded(options.destination ?? standardOutput(sharesOutput ? "shared" : "alone", onLost), onLost),
  );
  return (at, message, facts, span = activeSpan()) => {
    if (lines.isLevelEnabled(at)) lines[at](toFields(facts, span), message);
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
