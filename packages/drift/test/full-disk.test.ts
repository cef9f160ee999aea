import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aggregateTrace, traceRecorder } from "../src/index.ts";
import { aFolder, anEdge } from "./support/edges.ts";

const faultsOf = (path: string) => aggregateTrace(path).faults.map(({ kind }) => kind);

/** A disk that takes `bytes` more, and `bytes` again once there is space. */
function smallDisk(bytes: number) {
  let left = bytes;
  const full = () => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  const take = (fd: number, chunk: Uint8Array): number => {
    if (left === 0) throw full();
    const written = writeSync(fd, chunk.subarray(0, left));
    left -= written;
    return written;
  };
  return {
    freeSpace: () => {
      left = Number.POSITIVE_INFINITY;
    },
    fs: {
      writeSync: take,
      write: (
        fd: number,
        chunk: Uint8Array,
        offset: number,
        length: number,
        _position: null,
        done: (error: Error | null, written: number) => void,
      ) =>
        setImmediate(() => {
          try {
            done(null, take(fd, chunk.subarray(offset, offset + length)));
          } catch (error) {
            done(error as Error, 0);
          }
        }),
    },
  };
}

describe("a disk that fills up", () => {
  test.each([0, 1, 150, 300, 301, 700])("after %i bytes, permanently: the run has no complete end", async (bytes) => {
    const file = join(aFolder(), "trace.jsonl");
    const recorder = traceRecorder(file, { fs: smallDisk(bytes).fs, onLoss: () => {} });
    for (let i = 0; i < 5; i++) recorder.record(anEdge());
    await recorder.close();
    expect(faultsOf(file)).not.toEqual([]);
  });

  test.each([1, 150, 300, 700])(
    "after %i bytes, for a while: what was lost is missing, and what follows is read",
    async (bytes) => {
      const file = join(aFolder(), "trace.jsonl");
      const disk = smallDisk(bytes);
      const recorder = traceRecorder(file, { fs: disk.fs, onLoss: () => {} });
      for (let i = 0; i < 5; i++) {
        recorder.record(anEdge());
        await new Promise(setImmediate);
      }
      disk.freeSpace();
      recorder.record(anEdge({ target: "http:ledger/last" }));
      await recorder.close();
      const trace = aggregateTrace(file);
      expect(trace.faults.map(({ kind }) => kind)).toContain("events_missing");
      expect(trace.edges.map(({ target }) => target)).toContain("http:ledger/last");
    },
  );

  test("a stalled disk uses bounded memory, and the gap is detected", async () => {
    const file = join(aFolder(), "trace.jsonl");
    const stuck = Promise.withResolvers<void>();
    let isFirst = true;
    const recorder = traceRecorder(file, {
      onLoss: () => {},
      fs: {
        write: (fd, chunk, offset, length, _position, done) => {
          const go = () => done(null, writeSync(fd, chunk.subarray(offset, offset + length)));
          if (isFirst) void stuck.promise.then(go);
          else setImmediate(go);
          isFirst = false;
        },
      },
    });
    for (let i = 0; i < 20_000; i++) recorder.record(anEdge());
    stuck.resolve();
    await recorder.close();
    expect(readFileSync(file).length).toBeLessThan(6 * 1024 * 1024);
    expect(faultsOf(file)).toEqual(["events_missing"]);
  });
});
