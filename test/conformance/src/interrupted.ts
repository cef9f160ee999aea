/** Loaded before the main module of an app: now and then the process is interrupted right after it read a clock. */
const readsBetween = 500;
const interruptedMs = 200;

const nothing = new Int32Array(new SharedArrayBuffer(4));
const readMs = performance.now.bind(performance);
let reads = 0;
performance.now = () => {
  const shownMs = readMs();
  reads++;
  if (reads % readsBetween === 0) Atomics.wait(nothing, 0, 0, interruptedMs);
  return shownMs;
};
