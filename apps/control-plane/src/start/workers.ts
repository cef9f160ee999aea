import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { createLogWriter, createNotice, endedWorkers } from "@svc/telemetry";
import { type Config, drainTimes } from "./config.ts";

/**
 * Keeps `SVC_WORKERS` processes serving on one socket. This process opens no store and has no metrics. `log` writes a
 * line of plain text for the operator.
 */
export function superviseWorkers(config: Config, log: (line: string) => void): Supervision {
  const { noticeMs, deadlineMs, lastWordsMs } = drainTimes;
  const writeLog = createLogWriter({ component: "control_plane", level: config.logLevel });
  const notice = createNotice(writeLog, log);
  if (config.metricsFolder === undefined) {
    notice("several workers serve, and a scrape sees only one of them", ["PROMETHEUS_MULTIPROC_DIR"]);
  }
  if (config.telemetryKey === undefined) {
    notice("a setting is missing; a random telemetry key is used until the next start", ["SVC_TELEMETRY_KEY"]);
  }
  // Workers accept connections themselves. A connection that this process hands to a killed worker would hang.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const shared = sharedSettings(config);
  const dir = config.metricsFolder;
  const keepCounts = dir === undefined ? () => {} : endedWorkers({ dir, pid: process.pid, startedAt: Date.now() });
  return supervise({
    count: config.workers,
    start: () => forkWorker(shared, keepCounts),
    onServing: (url) => log(`control plane listening on ${url}, ${config.workers} workers`),
    onReplaced(how) {
      log(`a worker ended (${how}); another takes its place`);
      writeLog("warn", "a worker ended; another takes its place");
    },
    killAfterMs: noticeMs + deadlineMs + lastWordsMs,
  });
}

/** Settings that are made once and are the same for every worker. */
const sharedSettings = ({ madeUpAdminToken, telemetryKey }: Config): Record<string, string> => ({
  SVC_MIGRATE: "never",
  ...(madeUpAdminToken !== undefined && { SVC_ADMIN_TOKEN: madeUpAdminToken }),
  ...(telemetryKey === undefined && { SVC_TELEMETRY_KEY: randomBytes(32).toString("base64url") }),
});

interface ServingMessage {
  readonly serving: string;
}

/**
 * A copy of this process on the same socket. It ends when this process ends. `env` adds to its settings.
 * @param onExit called with its number once it has ended
 */
function forkWorker(env: Readonly<Record<string, string>>, onExit: (pid: number) => void): WorkerProcess {
  const worker = cluster.fork(env);
  const { pid } = worker.process;
  if (pid !== undefined) worker.once("exit", () => onExit(pid));
  return {
    onServing: (listener) => worker.once("message", ({ serving }: ServingMessage) => listener(serving)),
    onEnd(listener) {
      worker.once("exit", (code, signal) => listener(signal ?? code));
      // Without a process there is no exit event.
      worker.on("error", () => {
        if (worker.process.pid === undefined) listener(1);
      });
    },
    kill: (signal) => void worker.process.kill(signal),
  };
}

/** Reports to the supervisor, if there is one, that this worker serves. */
export function reportServing(serving: string): void {
  if (cluster.isWorker) process.send?.({ serving } satisfies ServingMessage);
}

/** A worker as its supervisor sees it. */
export interface WorkerProcess {
  /** Calls once it serves, with its address. */
  onServing(listener: (url: string) => void): void;
  /** Calls once it has ended, with its exit code or signal. */
  onEnd(listener: (how: number | string) => void): void;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

interface Supervision {
  /** Drains every worker, and kills those that have not ended by the deadline. Idempotent. */
  stop(): void;
  /** Resolves after the last worker ended: 0 after a clean stop, else 1. */
  readonly ended: Promise<0 | 1>;
}

interface SupervisionOptions {
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
