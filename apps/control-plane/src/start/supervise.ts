/** One process that serves, as its supervisor sees it. */
export interface WorkerProcess {
  /** Called once it serves, with the address it listens on. */
  onServing(listener: (url: string) => void): void;
  /** Called once it has ended: with its exit code, or the name of the signal that ended it. */
  onEnd(listener: (how: number | string) => void): void;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface Supervision {
  /** Has every worker drain and end, and kills those that have not after the deadline. Idempotent. */
  stop(): void;
  /** Resolves when the last worker has ended: 0 after a clean stop, else 1. */
  readonly ended: Promise<0 | 1>;
}

export interface SupervisionOptions {
  /** How many serve at a time. */
  readonly count: number;
  readonly start: () => WorkerProcess;
  /** Once, when the first worker serves. */
  readonly onServing: (url: string) => void;
  /** A worker ended that nobody stopped; another takes its place. */
  readonly onReplaced: (how: number | string) => void;
  /** Beyond what a worker takes to drain. */
  readonly killAfterMs: number;
  readonly monotonicMs?: () => number;
  /** Runs once after a time, until it is called off. */
  readonly after?: (delayMs: number, run: () => void) => () => void;
}

/** A worker that served for so long did not end for how it was started. */
const steadyMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * Keeps workers serving. The first starts alone: what stops it at its start would stop the others, so it is told once
 * and ends it all. From then on each that ends is replaced: at once when it had served for a while, else after pauses
 * that double, so that a fault that lasts is no busy loop.
 */
export function supervise(options: SupervisionOptions): Supervision {
  const { count, start, onServing, onReplaced, killAfterMs } = options;
  const { monotonicMs = () => performance.now(), after = afterDelay } = options;
  const running = new Set<WorkerProcess>();
  const callOff = new Set<() => void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<0 | 1>();
  let hasServed = false;
  let isStopping = false;
  let quickEnds = 0;
  let outcome: 0 | 1 = 0;

  const add = () => {
    const worker = start();
    let servedFromMs: number | undefined;
    running.add(worker);
    worker.onServing((url) => {
      servedFromMs = monotonicMs();
      if (hasServed) return;
      hasServed = true;
      onServing(url);
      for (let others = count - 1; others > 0 && !isStopping; others--) add();
    });
    worker.onEnd((how) => {
      running.delete(worker);
      if (isStopping || !hasServed) return leave(how);
      quickEnds = servedFromMs !== undefined && monotonicMs() - servedFromMs >= steadyMs ? 0 : quickEnds + 1;
      onReplaced(how);
      later(pauseMs(quickEnds), add);
    });
  };
  const leave = (how: number | string) => {
    // One that was still starting when it was stopped ends by the signal itself.
    const isClean = how === 0 || (isStopping && how === "SIGTERM");
    if (!isClean) outcome = 1;
    if (running.size > 0) return;
    stopWaiting();
    end(outcome);
  };
  const later = (delayMs: number, run: () => void) => {
    const cancel = after(delayMs, () => {
      callOff.delete(cancel);
      run();
    });
    callOff.add(cancel);
  };
  const stopWaiting = () => {
    for (const cancel of callOff) cancel();
    callOff.clear();
  };

  add();
  return {
    ended,
    stop() {
      if (isStopping) return;
      isStopping = true;
      stopWaiting();
      if (running.size === 0) return end(outcome);
      for (const worker of running) worker.kill("SIGTERM");
      later(killAfterMs, () => {
        for (const worker of running) worker.kill("SIGKILL");
      });
    },
  };
}

const pauseMs = (quickEnds: number): number =>
  quickEnds === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (quickEnds - 1));

function afterDelay(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}
