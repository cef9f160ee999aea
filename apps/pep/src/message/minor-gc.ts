import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** So much may lie about; a collection takes under a millisecond. */
const collectEveryBytes = 8 * 1024 * 1024;

/**
 * Every piece of a body lies in a buffer of its own outside of the heap, which goes with the small object that speaks of
 * it. V8 collects these objects by their own size, and so lets some 64 MiB of buffers pile up behind a few kilobytes
 * (measured: a gigabyte took 80 MiB on its way). Collecting the young objects alone, every few mebibytes, keeps that flat.
 */
export function createYoungGarbage(collectYoung: () => void): { carried(bytes: number): void } {
  let uncollectedBytes = 0;
  return {
    carried(bytes) {
      uncollectedBytes += bytes;
      if (uncollectedBytes < collectEveryBytes) return;
      uncollectedBytes = 0;
      collectYoung();
    },
  };
}

setFlagsFromString("--expose-gc");
const collect: (options: { type: "minor" }) => void = runInNewContext("gc");

/** The process's own; collecting concerns all of it. */
export const youngGarbage = createYoungGarbage(() => collect({ type: "minor" }));
