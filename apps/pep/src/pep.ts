import type { Telemetry } from "@svc/telemetry";
import { createHopMachinery, type HopMachinery } from "./control-plane.ts";
import { fetchAllowedTools } from "./decide/allowed-tools.ts";
import { ambientSession } from "./decide/ambient-session.ts";
import { createEvents } from "./events.ts";
import { createConcurrencyLimiter } from "./http/concurrency-limiter.ts";
import { createAdminServer, createProxyServer } from "./http/listener.ts";
import type { PepPorts } from "./http/ports.ts";
import { createSessionOrder } from "./http/session-order.ts";
import { type Serving, serve } from "./serving.ts";
import type { Config } from "./start/config.ts";
import { configuredUpstreams } from "./upstreams/configured-upstreams.ts";

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
  /** Somebody on this machine asked for the end (`SVC_PEP_QUIT`). */
  readonly onQuit?: () => void;
}

/**
 * Puts the enforcement point together and starts it.
 *
 * @throws {ConfigurationRefused} where the configuration file does not hold
 * @throws {KeyRefused} where the agent's key cannot be used; and the system's error where a port or folder cannot
 */
export async function startPep(config: Config, { telemetry, tell, onQuit }: PepOptions): Promise<Pep> {
  const { limits, sessionFile } = config;
  const events = createEvents(telemetry);
  const upstreams = configuredUpstreams(config, events, tell);
  const machinery = await createHopMachinery(config);
  const ambient = sessionFile === undefined ? undefined : ambientSession(sessionFile, events.sessionFileRefused);
  const ports = portsOf(config, machinery, {
    upstreams: upstreams.live,
    ambient: () => ambient?.current(),
    events,
  });
  let isReady = true;
  const endpoints = { events, isReady: () => isReady, quit: config.mayQuit ? onQuit : undefined };
  const serving = await serve(createProxyServer(ports, endpoints), createAdminServer(endpoints, limits), config);
  upstreams.serve();
  const stop = async (graceMs: number) => {
    isReady = false;
    await serving.drain(graceMs);
    ambient?.stop();
    await Promise.all([machinery.close(), upstreams.close()]);
    events.stopped();
    await events.shutdown();
  };
  let stopped: Promise<void> | undefined;
  return {
    port: serving.port,
    adminPort: serving.adminPort,
    reload: upstreams.reload,
    stop({ isUrgent = false } = {}) {
      stopped ??= stop(isUrgent ? 0 : config.graceSeconds * 1000);
      return stopped;
    },
  };
}

function portsOf(
  { limits, mode: defaultMode, undecided }: Config,
  { transport, steps, pool, assertIdentity }: HopMachinery,
  live: Pick<PepPorts, "upstreams" | "ambient" | "events">,
): PepPorts {
  const { monotonicMs } = steps;
  return {
    ...live,
    hop: { steps, pool, limits, ...(assertIdentity && { assertIdentity }) },
    limits,
    undecided,
    defaultMode,
    calls: createConcurrencyLimiter(limits.maxCalls),
    streams: createConcurrencyLimiter(limits.maxStreams),
    order: createSessionOrder(limits),
    allowedTools: (credential) => fetchAllowedTools({ transport, pool, limits, monotonicMs }, credential),
    monotonicMs,
    now: Date.now,
  };
}
