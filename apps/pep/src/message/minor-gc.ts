import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A minor collection takes under a millisecond. */
const collectEveryBytes = 8 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect: (options: { type: "minor" }) => void = runInNewContext("gc");

let uncollectedBytes = 0;

/**
 * Triggers a minor GC every 8 MiB of body bytes. Body buffers are outside of the heap; V8 counts only the small objects
 * that own them, and lets 64 MiB of buffers pile up (measured: 80 MiB for a body of 1 GiB).
 */
export function countBodyBytes(bytes: number): void {
  uncollectedBytes += bytes;
  if (uncollectedBytes < collectEveryBytes) return;
  uncollectedBytes = 0;
  collect({ type: "minor" });
}
