import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { endedError, type RunningProgram, startProgram, untilReady } from "@svc/host/child-program";
import { untilSignal } from "@svc/host/process-end";
import { bearersOf } from "./bearers.ts";
import { dataFolder, examplePepConfig, pepConfigFile } from "./files.ts";
import { namesProvider } from "./logins.ts";
import {
  addressesOf,
  choosePorts,
  controlPlaneProgram,
  examplePrograms,
  pepProgram,
  providerProgram,
  type StackProgram,
} from "./programs.ts";

export interface StackOptions {
  readonly pepConfig?: string;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly mode?: "enforce" | "observe";
  readonly port?: number;
  readonly dataDir?: string;
  /** Whether to start a provider; not where the environment names one. */
  readonly provider?: boolean;
  /** Whether the agents of the examples are registered, so that clients can log in to the example servers. */
  readonly withExample?: boolean;
  /** Called with each line that a process writes. */
  readonly onLine?: (name: string, line: string) => void;
  readonly onProgress: (step: string) => void;
}

/** Control plane, enforcement point and the example services, all running. */
export type Stack = Awaited<ReturnType<typeof startStack>>;

/** Starts the stack, uses it, and stops it: after `use`, at a signal, or when one of its processes ends. */
export async function runStack(
  options: StackOptions,
  use: (stack: Stack, signal: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const signal = untilSignal();
  const starting = startStack(options);
  const stack = await Promise.race([starting, signal.then(() => undefined)]);
  if (stack === undefined) return void (await starting.then((late) => late.stop()).catch(() => {}));
  try {
    await Promise.race([use(stack, signal), stack.broken]);
  } finally {
    await stack.stop();
  }
}

/** Throws where a process does not start; none is left running then. */
async function startStack(options: StackOptions) {
  const { env: environment } = process;
  const { onProgress, onLine = () => {}, redisUrl, mode } = options;
  const bearers = bearersOf(environment);
  const ports = await choosePorts(options.port);
  const addresses = addressesOf(ports);
  const folder = await dataFolder(options.dataDir ?? environment.SVC_DATA_DIR);
  const dataDir = folder.path;
  const databaseUrl = options.databaseUrl ?? environment.DATABASE_URL;
  const group = processGroup(onLine, folder.release);
  try {
    const wantsProvider = options.provider !== false && !namesProvider(environment);
    const hasProvider = wantsProvider && isProviderInstalled();
    const hasLogins = options.withExample === true && (hasProvider || environment.SVC_IDP_CLIENT_ID !== undefined);
    const pepConfig = await pepConfigFile(options.pepConfig, dataDir, examplePepConfig(addresses, hasLogins));
    const telemetryKey = randomBytes(32).toString("base64url");
    const given = { environment, ports, dataDir, bearers, databaseUrl, redisUrl, mode };
    const parts = { ...given, telemetryKey, pepConfig, hasProvider };
    onProgress(
      hasProvider
        ? "starting the control plane, its database, the example services and an OpenID provider for development"
        : "starting the control plane, its database and the example services",
    );
    const beside = [...examplePrograms(parts), ...(hasProvider ? [providerProgram(parts)] : [])];
    await Promise.all([controlPlaneProgram(parts), ...beside].map(group.start));
    onProgress("starting the enforcement point");
    await group.start(pepProgram(parts));
    return {
      ...addresses,
      /** Null: the stack has none of its own. */
      openidProvider: hasProvider ? addresses.openidProvider : null,
      /** Whether the stack would have one if its package were installed. */
      lacksProvider: wantsProvider && !hasProvider,
      hasLogins,
      bearers,
      /** The enforcement point's configuration: writable and watched. */
      pepConfig,
      databaseUrl: databaseUrl ?? (await embeddedDatabaseUrl(dataDir)),
      broken: group.broken,
      stop: group.stop,
    };
  } catch (cause) {
    await group.stop();
    throw cause;
  }
}

function processGroup(onLine: (name: string, line: string) => void, release: () => Promise<void>) {
  const programs: RunningProgram[] = [];
  const { promise: broken, reject: breakWith } = Promise.withResolvers<never>();
  // Awaited only after the start; until then a rejection is not unhandled.
  broken.catch(() => {});
  let stopping: Promise<void> | undefined;

  const stopAll = async (): Promise<void> => {
    for (const program of programs.toReversed()) await program.stop();
    await release();
  };
  return {
    /** Rejects when a process ends by itself; else never settles. */
    broken,
    /** Resolves when the program is ready. */
    start: async ({ readyUrl, ...program }: StackProgram): Promise<void> => {
      const running = startProgram({ ...program, onLine: (line) => onLine(program.name, line) });
      programs.push(running);
      void running.ended.then(async () => stopping ?? breakWith(await endedError(running)));
      await untilReady(running, readyUrl);
    },
    /** Stops every process, the enforcement point first. Idempotent. */
    stop: (): Promise<void> => {
      stopping ??= stopAll();
      return stopping;
    },
  };
}

/** It is an optional peer: neither images nor packages bring it. */
function isProviderInstalled(): boolean {
  try {
    return import.meta.resolve("oidc-provider") !== "";
  } catch {
    return false;
  }
}

/** The service's own role, as the embedded database wrote it. */
async function embeddedDatabaseUrl(dataDir: string): Promise<string> {
  return JSON.parse(await readFile(join(dataDir, "connection.json"), "utf8")).app_url;
}
