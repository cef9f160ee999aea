/** A worker as its supervisor sees it. */
export interface WorkerProcess {
  /** Calls once it serves, with its address. */
  onServing(listener: (url: string) => void): void;
  /** Calls once it has ended, with its exit code or signal. */
  onEnd(listener: (how: number | string) => void): void;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface Supervision {
  /** Drains every worker, and kills those that have not ended by the deadline. Idempotent. */
  stop(): void;
  /** Resolves after the last worker ended: 0 after a clean stop, else 1. */
  readonly ended: Promise<0 | 1>;
}

export interface SupervisionOptions {
  readonly count: number;
  readonly start: () => WorkerProcess;
  /** Called once, when the first worker serves. */
  readonly onServing: (url: string) => void;
  /** A worker ended by itself, and is replaced. */
  readonly onReplaced: (how: number | string) => void;
  /** Longer than a worker takes to drain. */
  readonly killAfterMs: number;
  readonly monotonicMs?: () => number;
  /** Runs once after a delay. Returns a function that cancels it. */
  readonly after?: (delayMs: number, run: () => void) => () => void;
}

/** A worker that served for so long did not fail at its start. */
const steadyMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * Keeps workers serving. The first starts alone: a fault at its start would stop the others too, so it ends all. Later a
 * worker that ends is replaced, at once or, if it served only briefly, after pauses that double.
 */
export function supervise(options: SupervisionOptions): Supervision {
  const { count, start, onServing, onReplaced, killAfterMs } = options;
  const { monotonicMs = () => performance.now(), after = afterDelay } = options;
  const running = new Set<WorkerProcess>();
  const pending = new Set<() => void>();
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
    // A worker that was still starting ends by the signal itself.
    const isClean = how === 0 || (isStopping && how === "SIGTERM");
    if (!isClean) outcome = 1;
    if (running.size > 0) return;
    stopWaiting();
    end(outcome);
  };
  const later = (delayMs: number, run: () => void) => {
    const cancel = after(delayMs, () => {
      pending.delete(cancel);
      run();
    });
    pending.add(cancel);
  };
  const stopWaiting = () => {
    for (const cancel of pending) cancel();
    pending.clear();
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
