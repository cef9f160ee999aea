import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bearers, bearersOf } from "./bearers.ts";
import { type StackProcess, startProcess } from "./child-process.ts";
import { dataFolder } from "./data-folder.ts";
import { examplePepConfig, pepConfigFile } from "./pep-config.ts";
import { choosePorts } from "./ports.ts";
import {
  addressesOf,
  controlPlaneProgram,
  exampleHttpProgram,
  exampleMcpProgram,
  pepProgram,
  type StackAddresses,
  type StackProgram,
} from "./programs.ts";
import { endedFault, untilReady } from "./ready.ts";

export interface StackOptions {
  readonly pepConfig?: string;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly mode?: "enforce" | "observe";
  readonly port?: number;
  readonly dataDir?: string;
  /** Told each line that a process writes. */
  readonly onLine?: (name: string, line: string) => void;
  /** Told what is being done. */
  readonly onProgress?: (step: string) => void;
}

/** Control plane, enforcement point and the example services, all running. */
export interface Stack extends StackAddresses {
  readonly bearers: Bearers;
  /** The enforcement point's configuration: writable and watched. */
  readonly pepConfig: string;
  readonly databaseUrl: string;
  /** Rejects with a Fault when a process ends that nobody stopped; else never settles. */
  readonly broken: Promise<never>;
  /** Ends everything, the enforcement point first. Idempotent. */
  stop(): Promise<void>;
}

/** Throws a Fault where something does not start; nothing is left running then. */
export async function startStack(options: StackOptions, environment: NodeJS.ProcessEnv): Promise<Stack> {
  const { onProgress = () => {}, onLine = () => {} } = options;
  const bearers = bearersOf(environment);
  const ports = await choosePorts(options.port);
  const addresses = addressesOf(ports);
  const folder = await dataFolder(options.dataDir ?? environment.SVC_DATA_DIR);
  const databaseUrl = options.databaseUrl ?? environment.DATABASE_URL;
  const group = processGroup(onLine, folder.release);
  try {
    const pepConfig = await pepConfigFile(options.pepConfig, folder.path, examplePepConfig(addresses));
    const { redisUrl, mode } = options;
    const telemetryKey = randomBytes(32).toString("base64url");
    const parts = {
      telemetryKey,
      environment,
      ports,
      dataDir: folder.path,
      bearers,
      databaseUrl,
      redisUrl,
      mode,
      pepConfig,
    };
    onProgress("starting the control plane, its database and the example services");
    await Promise.all(
      [controlPlaneProgram(parts), exampleMcpProgram(parts), exampleHttpProgram(parts)].map(group.start),
    );
    onProgress("starting the enforcement point");
    await group.start(pepProgram(parts));
    return {
      ...addresses,
      bearers,
      pepConfig,
      databaseUrl: databaseUrl ?? (await embeddedDatabaseUrl(folder.path)),
      broken: group.broken,
      stop: group.stop,
    };
  } catch (cause) {
    await group.stop();
    throw cause;
  }
}

interface ProcessGroup {
  /** Resolves when the program is ready. */
  readonly start: (program: StackProgram) => Promise<void>;
  readonly broken: Promise<never>;
  readonly stop: () => Promise<void>;
}

function processGroup(onLine: (name: string, line: string) => void, release: () => Promise<void>): ProcessGroup {
  const processes: StackProcess[] = [];
  const { promise: broken, reject: breakWith } = Promise.withResolvers<never>();
  // Whoever waits for it learns of it; at the start, nobody does yet.
  broken.catch(() => {});
  let stopping: Promise<void> | undefined;

  const start = async ({ readyUrl, ...program }: StackProgram): Promise<void> => {
    const process = startProcess({ ...program, onLine: (line) => onLine(program.name, line) });
    processes.push(process);
    void process.ended.then(async () => stopping ?? breakWith(await endedFault(process)));
    await untilReady(process, readyUrl);
  };
  const stopAll = async (): Promise<void> => {
    for (const process of processes.toReversed()) await process.stop();
    await release();
  };
  const stop = (): Promise<void> => {
    stopping ??= stopAll();
    return stopping;
  };
  return { start, broken, stop };
}

/** As the embedded database wrote it down: the service's own role. */
async function embeddedDatabaseUrl(dataDir: string): Promise<string> {
  return JSON.parse(await readFile(join(dataDir, "connection.json"), "utf8")).app_url;
}
