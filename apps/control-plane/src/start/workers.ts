import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { createLogWriter, createNotice } from "@svc/telemetry";
import type { Config } from "./config.ts";
import { type Supervision, supervise, type WorkerProcess } from "./supervise.ts";

export interface WorkersOptions {
  readonly config: Config;
  /** Takes a line of plain text for the operator. */
  readonly say: (line: string) => void;
  /** Beyond what a worker takes to drain. */
  readonly killAfterMs: number;
}

/**
 * Keeps `SVC_WORKERS` processes serving on one socket. This process opens nothing but that socket: no store, no port of
 * its own, no share in the metrics.
 */
export function superviseWorkers({ config, say, killAfterMs }: WorkersOptions): Supervision {
  const writeLog = createLogWriter({ component: "control_plane", level: config.logLevel });
  const notice = createNotice(writeLog, say);
  if (config.metricsFolder === undefined) {
    notice("several workers serve, and a scrape sees only one of them", ["PROMETHEUS_MULTIPROC_DIR"]);
  }
  if (config.telemetryKey === undefined) {
    notice("a setting is missing; a random telemetry key is used until the next start", ["SVC_TELEMETRY_KEY"]);
  }
  // Workers accept for themselves. Handed over by this process, a connection that a killed worker had not taken yet would
  // neither be answered nor closed (measured: one for each kill under load).
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const settled = settledFor(config);
  return supervise({
    count: config.workers,
    start: () => forkWorker(settled),
    onServing: (url) => say(`control plane listening on ${url}, ${config.workers} workers`),
    onReplaced(how) {
      say(`a worker ended (${how}); another takes its place`);
      writeLog("warn", "a worker ended; another takes its place");
    },
    killAfterMs,
  });
}

/** What is done or made up once, and is the same for every worker. */
const settledFor = ({ madeUpAdminToken, telemetryKey }: Config): Record<string, string> => ({
  SVC_MIGRATE: "never",
  ...(madeUpAdminToken !== undefined && { SVC_ADMIN_TOKEN: madeUpAdminToken }),
  ...(telemetryKey === undefined && { SVC_TELEMETRY_KEY: randomBytes(32).toString("base64url") }),
});

interface ServingMessage {
  readonly serving: string;
}

/**
 * A copy of this process that shares its listening socket. It ends at once when this one does, however that came.
 * @param env settings besides those of this process
 */
function forkWorker(env: Readonly<Record<string, string>>): WorkerProcess {
  const worker = cluster.fork(env);
  return {
    onServing: (listener) => worker.once("message", ({ serving }: ServingMessage) => listener(serving)),
    onEnd(listener) {
      worker.once("exit", (code, signal) => listener(signal ?? code));
      // A process that could not be made has no exit; any other error comes before one.
      worker.on("error", () => {
        if (worker.process.pid === undefined) listener(1);
      });
    },
    kill: (signal) => void worker.process.kill(signal),
  };
}

/** Tells the supervisor, where there is one, that this worker serves. */
export function tellServing(serving: string): void {
  if (cluster.isWorker) process.send?.({ serving } satisfies ServingMessage);
}
