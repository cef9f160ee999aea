import { randomUUID } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { type Edge, edgeLine, endLine } from "./edge.ts";
import { openTraceWriter, type TraceFs } from "./trace-writer.ts";

export { type Edge, type EdgeOutcome, edgeOutcomes } from "./edge.ts";

/** One run of recorded edges. */
export interface TraceRecorder {
  /**
   * Records one call edge in memory; it is written in the background. Never throws. An event that cannot be kept
   * leaves a gap in the run's numbering, by which `aggregateTrace` sees the loss.
   */
  record(edge: Edge): void;
  /** Ends the run: resolves once all of it is on file, or cannot be. Never rejects. */
  close(): Promise<void>;
}

/** Clock, identifiers, file system and loss handler of a recorder. */
export interface TraceRecorderOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly uuid?: () => string;
  /** Called once, at the first event that may be lost. Default: a warning of the process. */
  readonly onLoss?: (error: unknown) => void;
  /** Overrides of the file system's calls. */
  readonly fs?: Partial<TraceFs>;
}

/**
 * Records one run of edge events (docs/reference/drift.md#trace-files). `path` is a file, or a folder that exists or is
 * written with a trailing slash; in a folder every recorder has a file of its own, so many processes can share it. The
 * run ends with `close()` or with the process; one that is killed leaves a run without its end, which the gate counts
 * as a loss.
 *
 * Never throws: a path that cannot be written is passed to `onLoss`, and the gate finds no trace, which is an error too.
 */
export function traceRecorder(path: string, options: TraceRecorderOptions = {}): TraceRecorder {
  const { now = Date.now, uuid = randomUUID, onLoss = warn, fs } = options;
  const run = uuid();
  const onFault = callOnce(onLoss);
  const file = fileOf(path, run, onFault);
  const writer = openTraceWriter(file, onFault, fs);
  let seq = 0;
  let closing: Promise<void> | undefined;
  const cancelExit = endAtExit(() => writer.appendNow(endLine(run, seq)));

  const end = async () => {
    await writer.finish(endLine(run, seq));
    cancelExit();
    writer.close();
  };

  /** It contradicts the end line, so the loss is not silent. */
  const appendLate = (line: string) => {
    const late = openTraceWriter(file, onFault, fs);
    late.appendNow(line);
    late.close();
  };

  return {
    record(edge) {
      seq += 1;
      const line = edgeLine({ run, seq, ts: new Date(now()).toISOString() }, edge);
      if (closing) appendLate(line);
      // At once, so that also a process killed right after it leaves a run without its end.
      else if (seq === 1) writer.appendNow(line);
      else writer.append(line);
    },
    close: () => {
      closing ??= end();
      return closing;
    },
  };
}

/** The environment by which a child process records into `path` as well: spread it into the child's `env`. */
export const traceEnv = (path: string): { readonly SVC_TRACE_PATH: string } => ({
  SVC_TRACE_PATH: resolve(path) + (namesFolder(path) ? sep : ""),
});

const namesFolder = (path: string): boolean => path.endsWith("/") || path.endsWith(sep);

function fileOf(path: string, run: string, onFault: (error: unknown) => void): string {
  try {
    const isFolder = namesFolder(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory();
    const file = isFolder ? join(path, `${process.pid}-${run}.jsonl`) : path;
    mkdirSync(dirname(file), { recursive: true });
    return file;
  } catch (error) {
    onFault(error);
    return path;
  }
}

/** A listener that throws must not break the recording process. */
function callOnce(onLoss: (error: unknown) => void): (error: unknown) => void {
  let isCalled = false;
  return (error) => {
    if (isCalled) return;
    isCalled = true;
    try {
      onLoss(error);
    } catch {
      // The gap in the trace shows the loss as well.
    }
  };
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(`call edges are being lost: ${reason}`, "TraceLoss");
}

/** One listener for all recorders, so that many of them raise no warning of too many listeners. */
const open = new Set<() => void>();
let isListening = false;

/** Runs `end` when the process exits by itself, or by `process.exit`; returns how to cancel. */
function endAtExit(end: () => void): () => void {
  if (!isListening) process.on("exit", endAll);
  isListening = true;
  open.add(end);
  return () => open.delete(end);
}

function endAll(): void {
  for (const end of open) end();
}
