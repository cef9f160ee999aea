import "./require-node.ts";
import { readFileSync } from "node:fs";
import { createTelemetry } from "@svc/telemetry";
import { type Config, readConfig } from "./config.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { migrate } from "./postgres/migrate.ts";
import { openDatabase } from "./stores.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

function configure(): Config {
  const result = readConfig(process.env);
  for (const warning of result.warnings) say(`WARNING: ${warning}`);
  if (result.ok) return result.config;
  for (const fault of result.faults) say(fault);
  say("The control plane did not start. Every setting is listed in apps/control-plane/README.md.");
  process.exit(1);
}

/** For a job that runs before the processes, which then start with SVC_MIGRATE=never. */
async function migrateOnce(config: Config): Promise<void> {
  const database = await openDatabase(config, say);
  try {
    await migrate(database);
    say("the schema is up to date");
  } finally {
    await database.stop();
  }
}

/** Time for a load balancer to notice that this process is no longer ready. */
const noticeMs = 5_000;
const drainDeadlineMs = 15_000;

function stopOnSignal(controlPlane: ControlPlane, config: Config, shutdown: () => Promise<void>): void {
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    controlPlane.stopBeingReady();
    if (!config.dev) await new Promise((resolve) => setTimeout(resolve, noticeMs));
    await controlPlane.close(drainDeadlineMs);
    await shutdown();
    process.exit(0);
  };
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());
}

async function run(config: Config): Promise<void> {
  const telemetry = createTelemetry({
    app: "control_plane",
    version,
    config: {
      key: config.telemetryKey,
      dev: config.dev,
      discloseIdentities: config.discloseIdentities,
      logLevel: config.logLevel,
      multiprocessDir: config.metricsFolder,
      otel: process.env,
    },
  });
  if (config.redisUrl === undefined) {
    say("WARNING: the replay guard is in process: it serves this one process only; set REDIS_URL for several");
  }
  if (config.tls === undefined && !isLoopback(config.host)) {
    say("WARNING: tokens travel in plain HTTP: set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or terminate TLS in front");
  }
  const onTaken = ({ message }: Error): never => {
    say(message);
    process.exit(1);
  };
  const controlPlane = await startControlPlane({ config, version, telemetry, onProgress: say, onTaken });
  if (config.madeUpAdminToken !== undefined) say(`admin token for development: ${config.madeUpAdminToken}`);
  say(`control plane listening on ${controlPlane.url}`);
  stopOnSignal(controlPlane, config, () => telemetry.shutdown());
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

const [command] = process.argv.slice(2);
if (command !== undefined && command !== "migrate") {
  say(`unknown command "${command}": run without one to serve, or with "migrate" to bring the schema up to date`);
  process.exit(2);
}
const config = configure();
try {
  await (command === "migrate" ? migrateOnce(config) : run(config));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
