import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
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
  /** Stops being ready, serves on until the grace period nears its end, lets calls finish, and ends. Idempotent. */
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

const lastRenewalMs = 1_000;

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
  const stop = async (graceMs: number) => {
    isReady = false;
    await serving.drain(graceMs);
    configuration.stop();
    ambient?.stop();
    const closed = pool.close();
    // A renewal under way may still bring tokens to keep, but not at the price of being killed.
    await Promise.race([closed, delay(lastRenewalMs, undefined, { ref: false })]);
    await Promise.all([disconnect(), upstreams.destroy()]);
    await closed;
    events.stopped();
    await events.shutdown();
  };
  let stopped: Promise<void> | undefined;
  return {
    port: serving.port,
    adminPort: serving.adminPort,
    reload: configuration.reload,
    stop({ isUrgent = false } = {}) {
      stopped ??= stop(isUrgent ? 0 : config.graceSeconds * 1000);
      return stopped;
    },
  };
}

async function agentProverOf({ agent }: Config) {
  if (!agent) return undefined;
  return agentProver({ agentName: agent.name, key: await importAgentKey(readFileSync(agent.keyFile, "utf8")) });
}
