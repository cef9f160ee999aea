import { readFileSync } from "node:fs";
import { agentProver, createRenewalPool, filePoolStore, renewalSource } from "@svc/client/steps";
import type { Telemetry } from "@svc/telemetry";
import { importAgentKey } from "@svc/tokens";
import { fetchAllowedTools } from "./allowed-tools.ts";
import { ambientSession } from "./ambient-session.ts";
import type { Config } from "./config.ts";
import { connectControlPlane } from "./control-plane.ts";
import { createEvents } from "./events.ts";
import { createGate } from "./gate.ts";
import { createAdminServer, createProxyServer } from "./listener.ts";
import { liveConfig } from "./live-config.ts";
import { connectPool, createLiveUpstreams } from "./live-upstreams.ts";
import type { PepPorts } from "./ports.ts";
import { type Serving, serve } from "./serving.ts";
import type { Upstreams } from "./upstream.ts";

/** A running enforcement point. */
export interface Pep extends Pick<Serving, "port" | "adminPort"> {
  /** Reads the configuration file again. */
  reload(): void;
  /** Stops being ready, serves on until the grace period nears its end, lets calls finish, and ends. */
  stop(options?: StopOptions): Promise<void>;
}

export interface StopOptions {
  /** Serves no longer, and cuts what is under way. */
  readonly isUrgent?: boolean;
}

export interface PepOptions {
  readonly telemetry: Telemetry<"pep">;
  /** Takes one line of plain text for the operator. */
  readonly tell: (line: string) => void;
}

/**
 * Puts the enforcement point together and starts it.
 *
 * @throws {ConfigurationRefused} where the configuration file does not hold
 * @throws {KeyRefused} where the agent's key cannot be used; and the system's error where a port or folder cannot
 */
export async function startPep(config: Config, { telemetry, tell }: PepOptions): Promise<Pep> {
  const { limits, mode: defaultMode, undecided } = config;
  const events = createEvents(telemetry);
  const { transport, disconnect } = connectControlPlane(config);
  const monotonicMs = () => performance.now();
  const prover = await agentProverOf(config);
  const steps = { transport, monotonicMs, ...(prover && { prover }) };
  const store = config.stateDir === undefined ? undefined : await filePoolStore(config.stateDir);
  const pool = createRenewalPool({
    source: renewalSource(steps),
    idleSeconds: config.renewalIdleSeconds,
    ...(store && { store }),
  });
  const announce = ({ all }: Upstreams) => {
    events.serving(all.length === 0 ? [defaultMode] : all.map(({ mode }) => mode));
  };
  const configuration = liveConfig({
    file: config.configFile,
    defaultMode,
    onTaken(taken) {
      upstreams.replace(taken);
      announce(taken);
      events.configurationTaken();
    },
    onRefused(faults) {
      events.configurationRefused();
      for (const fault of faults) tell(`${config.configFile}: ${fault}`);
    },
  });
  const upstreams = createLiveUpstreams(configuration.first, connectPool);
  const { sessionFile } = config;
  const ambient = sessionFile === undefined ? undefined : ambientSession(sessionFile, events.sessionFileRefused);
  const ports: PepPorts = {
    guard: { steps, pool, limits, ...(prover && { assertIdentity: prover.assertIdentity }) },
    upstreams,
    ambient: () => ambient?.current(),
    events,
    limits,
    undecided,
    defaultMode,
    calls: createGate(limits.maxCalls),
    streams: createGate(limits.maxStreams),
    allowedTools: (credential) => fetchAllowedTools({ transport, pool, limits, monotonicMs }, credential),
    monotonicMs,
    now: Date.now,
  };
  let isReady = true;
  const endpoints = { events, isReady: () => isReady };
  const serving = await serve(createProxyServer(ports, endpoints), createAdminServer(endpoints, limits), config);
  configuration.watch();
  announce(configuration.first);
  return {
    port: serving.port,
    adminPort: serving.adminPort,
    reload: configuration.reload,
    async stop({ isUrgent = false } = {}) {
      isReady = false;
      await serving.drain(isUrgent ? 0 : config.graceSeconds * 1000);
      configuration.stop();
      ambient?.stop();
      await Promise.all([pool.close(), upstreams.destroy()]);
      await disconnect();
      events.stopped();
      await events.shutdown();
    },
  };
}

async function agentProverOf({ agent }: Config) {
  if (!agent) return undefined;
  return agentProver({ agentName: agent.name, key: await importAgentKey(readFileSync(agent.keyFile, "utf8")) });
}
