#!/usr/bin/env node
import "@svc/host/require-node";
import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { isLoopback } from "@svc/host";
import { claimMetricsFolder, createTelemetry } from "@svc/telemetry";
import { type Config, drainTimes, readConfig } from "./start/config.ts";
import type { ControlPlane } from "./start/control-plane.ts";
import { migrateDatabase, openDatabase } from "./start/stores.ts";
import { reportServing, superviseWorkers } from "./start/workers.ts";

const log = (line: string): void => void process.stderr.write(`${line}\n`);

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

function configure(purpose: "serve" | "migrate"): Config {
  const result = readConfig(process.env, { purpose });
  // The supervisor logged them for all workers.
  if (cluster.isPrimary) for (const warning of result.warnings) log(`WARNING: ${warning}`);
  if (result.ok) return result.config;
  for (const fault of result.faults) log(fault);
  log("The control plane did not start. Every setting is listed in apps/control-plane/README.md.");
  process.exit(1);
}

/** For a job that runs before the processes, which then start with SVC_MIGRATE=never. */
async function migrateOnce(config: Config): Promise<void> {
  const database = await openDatabase(config, log);
  try {
    await migrateDatabase(config, database);
    log("the schema is up to date");
  } finally {
    await database.stop();
  }
}

function onStopSignal(stop: () => void): void {
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

function drainOnSignal(controlPlane: ControlPlane, config: Config, shutdown: () => Promise<void>): void {
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    controlPlane.stopBeingReady();
    if (!config.dev) await setTimeout(drainTimes.noticeMs);
    await controlPlane.close(drainTimes.deadlineMs);
    await shutdown();
    process.exit(0);
  };
  onStopSignal(() => void stop());
}

/** Logged once, not per worker. */
function advise(config: Config): void {
  if (config.redisUrl === undefined) {
    log("WARNING: the replay guard is in process: it serves this one process only; set REDIS_URL for several");
  }
  if (config.tls === undefined && !isLoopback(config.host)) {
    log("WARNING: tokens travel in plain HTTP: set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or terminate TLS in front");
  }
  if (config.madeUpAdminToken !== undefined) log(`admin token for development: ${config.madeUpAdminToken}`);
}

/** @returns the address it listens on */
async function serve(config: Config): Promise<string> {
  // A supervisor does not load it.
  const { startControlPlane } = await import("./start/control-plane.ts");
  const telemetry = createTelemetry({
    app: "control_plane",
    version,
    config: {
      key: config.telemetryKey,
      dev: config.dev,
      discloseIdentities: config.discloseIdentities,
      logLevel: config.logLevel,
      sharesOutput: cluster.isWorker,
      multiprocessDir: config.metricsFolder,
      otel: process.env,
    },
  });
  const onDatabaseLost = ({ message }: Error): never => {
    log(message);
    process.exit(1);
  };
  const controlPlane = await startControlPlane({ config, version, telemetry, onProgress: log, onDatabaseLost });
  drainOnSignal(controlPlane, config, () => telemetry.shutdown());
  reportServing(controlPlane.url);
  return controlPlane.url;
}

async function serveByWorkers(config: Config): Promise<never> {
  if (config.migrate === "start") await migrateOnce(config);
  const workers = superviseWorkers(config, log);
  onStopSignal(workers.stop);
  process.exit(await workers.ended);
}

async function run(config: Config): Promise<void> {
  if (cluster.isWorker) return void (await serve(config));
  if (config.metricsFolder !== undefined) claimMetricsFolder(config.metricsFolder);
  advise(config);
  if (config.workers > 1) return serveByWorkers(config);
  log(`control plane listening on ${await serve(config)}`);
}

/** Each finding as a line of JSON, which `svc check --settings-from-env` shows; 1 where any is bad. */
async function check(): Promise<void> {
  const { checkSettings } = await import("./start/check.ts");
  for await (const finding of checkSettings(readConfig(process.env))) {
    process.stdout.write(`${JSON.stringify(finding)}\n`);
    if (finding.level === "bad") process.exitCode = 1;
  }
}

const [command = "serve"] = process.argv.slice(2);
try {
  switch (command) {
    case "serve":
      await run(configure(command));
      break;
    case "migrate":
      await migrateOnce(configure(command));
      break;
    case "check":
      await check();
      break;
    default:
      log(
        `unknown command "${command}": run without one to serve, with "migrate" to bring the schema up to date, ` +
          'or with "check" to check whether the settings are safe',
      );
      process.exit(2);
  }
} catch (error) {
  log(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
