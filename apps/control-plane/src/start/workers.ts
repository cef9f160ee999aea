import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { createLogWriter, createNotice } from "@svc/telemetry";
import type { Config } from "./config.ts";
import { type Supervision, supervise, type WorkerProcess } from "./supervise.ts";

export interface WorkersOptions {
  readonly config: Config;
  /** Writes a line of plain text for the operator. */
  readonly log: (line: string) => void;
  /** Longer than a worker takes to drain. */
  readonly killAfterMs: number;
}

/** Keeps `SVC_WORKERS` processes serving on one socket. This process opens no store and has no metrics. */
export function superviseWorkers({ config, log, killAfterMs }: WorkersOptions): Supervision {
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
  return supervise({
    count: config.workers,
    start: () => forkWorker(shared),
    onServing: (url) => log(`control plane listening on ${url}, ${config.workers} workers`),
    onReplaced(how) {
      log(`a worker ended (${how}); another takes its place`);
      writeLog("warn", "a worker ended; another takes its place");
    },
    killAfterMs,
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

/** A copy of this process on the same socket. It ends when this process ends. `env` adds to its settings. */
function forkWorker(env: Readonly<Record<string, string>>): WorkerProcess {
  const worker = cluster.fork(env);
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
