import { closeSync, constants, openSync, write, writeSync } from "node:fs";

/** The file system calls that a writer makes. */
export interface TraceFs {
  readonly openSync: typeof openSync;
  readonly writeSync: (fd: number, bytes: Uint8Array) => number;
  readonly write: (
    fd: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: null,
    done: (error: Error | null, written: number) => void,
  ) => void;
  readonly closeSync: typeof closeSync;
}

/** Appends whole lines to one file, without keeping its caller waiting. Nothing throws: a fault is passed to `onFault`. */
export interface TraceWriter {
  /** Writes a line in the background, in order. */
  append(line: string): void;
  /** Has everything and this line on file when it returns, as far as the file system takes it. */
  appendNow(line: string): void;
  /** Appends a last line behind those that wait; resolves once all is on file, or failed. */
  finish(line: string): Promise<void>;
  close(): void;
}

/** Waits for a stalled disk: some ten thousand events. Further events are dropped. */
const maxPendingChars = 4 * 1024 * 1024;

/** Non-blocking, so that a pipe without a reader does not stop the process; on files it changes nothing. */
const openFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export function openTraceWriter(
  path: string,
  onFault: (error: unknown) => void,
  overrides: Partial<TraceFs> = {},
): TraceWriter {
  const fs: TraceFs = { openSync, writeSync, write, closeSync, ...overrides };
  const fd = attempt(() => fs.openSync(path, openFlags), onFault);
  if (fd === undefined) return lost;
  let pending = "";
  let inFlight = "";
  /** The last line may be half written: the next write begins a new one. */
  let isTorn = false;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const torn = (error: unknown) => {
    isTorn = true;
    onFault(error);
  };
  const bytesOf = (lines: string): Buffer => {
    const bytes = Buffer.from(isTorn ? `\n${lines}` : lines);
    isTorn = false;
    return bytes;
  };

  const writeOn = (bytes: Uint8Array) => {
    fs.write(fd, bytes, 0, bytes.length, null, (error, written) => {
      if (error || written === 0) torn(error ?? nothingWritten);
      else if (written < bytes.length) return writeOn(bytes.subarray(written));
      inFlight = "";
      pump();
    });
  };

  const pump = () => {
    if (pending === "") return idle.resolve();
    inFlight = pending;
    pending = "";
    writeOn(bytesOf(inFlight));
  };

  const enqueue = (line: string) => {
    pending += line;
    if (inFlight !== "") return;
    idle = Promise.withResolvers();
    pump();
  };

  return {
    append(line) {
      if (pending.length + line.length > maxPendingChars) onFault(new Error("the trace file does not keep up"));
      else enqueue(line);
    },
    appendNow(line) {
      // A write in flight may or may not finish: it is written again, and read once.
      if (inFlight !== "") isTorn = true;
      const bytes = bytesOf(inFlight + pending + line);
      pending = "";
      try {
        for (let rest: Uint8Array = bytes; rest.length > 0; ) {
          const written = fs.writeSync(fd, rest);
          if (written === 0) throw nothingWritten;
          rest = rest.subarray(written);
        }
      } catch (error) {
        torn(error);
      }
    },
    finish(line) {
      enqueue(line);
      return idle.promise;
    },
    close: () => attempt(() => fs.closeSync(fd), onFault),
  };
}

const nothingWritten = new Error("the trace file takes nothing more");

const lost: TraceWriter = { append: () => {}, appendNow: () => {}, finish: () => Promise.resolve(), close: () => {} };

function attempt<T>(act: () => T, onFault: (error: unknown) => void): T | undefined {
  try {
    return act();
  } catch (error) {
    onFault(error);
    return undefined;
  }
}
