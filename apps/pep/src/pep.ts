import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { type TraceRecorder, traceRecorder } from "@svc/drift/recorder";
import { type HopPorts, unreferenced } from "@svc/hop";
import { listen } from "@svc/host";
import type { Telemetry } from "@svc/telemetry";
import { fetchSessionTargets, watchAllowedTools } from "./decide/allowed-tools.ts";
import { ambientSession } from "./decide/ambient-session.ts";
import { createCallsUnderWay } from "./decide/calls-under-way.ts";
import { createHandles } from "./decide/handles.ts";
import { createIssuerReader } from "./decide/issuer.ts";
import { edgeRecorder } from "./decide/record-edge.ts";
import { createSessionTargets } from "./decide/session-targets.ts";
import { createSessionsBeside } from "./decide/sessions-beside.ts";
import { createToolDefinitions } from "./decide/tool-definitions.ts";
import { createUnlistedCalls } from "./decide/unlisted-calls.ts";
import { createEvents, type Events } from "./events.ts";
import { placeOf } from "./forward/connection.ts";
import { createConcurrencyLimiter, type PepPorts } from "./http/call.ts";
import { createElicitingSessions } from "./http/client-capabilities.ts";
import { createAdminServer, createProxyServer } from "./http/listener.ts";
import { createSessionOrder } from "./http/session-order.ts";
import type { Authority } from "./local/authority.ts";
import { createReachable, type Reachable } from "./local/reachable.ts";
import { createTerminatedTunnels } from "./local/terminated-tunnels.ts";
import { createUnlistedHosts } from "./local/unlisted-hosts.ts";
import type { Config } from "./start/config.ts";
import { openControlPlane } from "./start/control-plane.ts";
import { followActs } from "./start/follow-acts.ts";
import { createStdioUpstreams, type StdioUpstreams } from "./stdio/stdio-upstreams.ts";
import { type ConfiguredUpstreams, configuredUpstreams } from "./upstreams/configured-upstreams.ts";
import { connectUpstreams } from "./upstreams/connect-upstream.ts";
import type { Upstreams } from "./upstreams/upstream.ts";

export type Pep = Awaited<ReturnType<typeof startPep>>;

export interface PepOptions {
  readonly telemetry: Telemetry<"pep">;
  /** Writes one line of plain text for the operator. */
  readonly log: (line: string) => void;
  /** Called on `POST /__svc/quit` where `SVC_PEP_QUIT` is set. */
  readonly onQuit?: () => void;
}

/** The part of the grace period that is kept for calls under way; the agent is served for the rest. */
const longestFinishMs = 5_000;

/**
 * Puts the enforcement point together and starts it.
 * @throws {ConfigurationRefused} if the configuration file is invalid
 * @throws {KeyRefused} if the agent's key cannot be used; the system's error if a port or folder cannot
 */
export async function startPep(config: Config, { telemetry, log, onQuit }: PepOptions) {
  const { limits, sessionFile } = config;
  const events = createEvents(telemetry);
  const announce = ({ all }: Upstreams) =>
    events.serving(all.length === 0 ? [config.mode] : all.map(({ mode }) => mode));
  const stdio = createStdioUpstreams(log, () => performance.now());
  const upstreams = upstreamsOf(config, stdio, events, announce, log);
  const controlPlane = await openControlPlane(config);
  const ambient = sessionFile === undefined ? undefined : ambientSession(sessionFile, events.sessionFileRefused);
  const { hop } = controlPlane;
  const { monotonicMs } = hop.steps;
  const underWay = createCallsUnderWay({ monotonicMs, random: Math.random, after: unreferenced });
  const unlisted = createUnlistedCalls();
  const definitions = createToolDefinitions(events.toolChanged, Date.now);
  const unlistedHosts = createUnlistedHosts();
  const recorder = recorderOf(config, log);
  const authority = await authorityOf(config);
  let ownPorts: readonly number[] = [];
  const ports: PepPorts = {
    hop,
    limits,
    events,
    recordEdge: recorder && edgeRecorder(recorder),
    observe: config.observe,
    unlisted,
    unlistedHosts,
    tunnels: createTerminatedTunnels(authority),
    otherHosts: otherHostsOf(config, upstreams, () => ownPorts),
    defaultMode: config.mode,
    upstreams: upstreams.live,
    ambient: () => ambient?.current(),
    calls: createConcurrencyLimiter(limits.maxCalls),
    streams: createConcurrencyLimiter(limits.maxStreams),
    order: createSessionOrder(limits),
    watchAllowedTools: (credential, onChange) => watchAllowedTools(hop, credential, limits.redecideMs, onChange),
    sessionTargets: createSessionTargets((credential) => fetchSessionTargets(hop, credential), monotonicMs),
    eliciting: createElicitingSessions(),
    ...enforcementPlaneOf(config, hop),
    definitions,
    onSessionEnd: stdio.endSession,
    underWay,
    monotonicMs,
    now: Date.now,
  };
  let isReady = true;
  const endpoints = { events, isReady: () => isReady, quit: config.mayQuit ? onQuit : undefined };
  const admin = await listen(
    createAdminServer(
      { ...endpoints, unlisted: unlisted.read, hosts: unlistedHosts.read, changed: definitions.read },
      limits,
    ),
    config.adminListen,
  );
  const resources = {
    publicUrl: config.publicUrl,
    upstreams: () => upstreams.live.current(),
    issuer: createIssuerReader(hop.steps, limits.stepMs),
  };
  const proxy = await listen(createProxyServer(ports, endpoints, resources), config.listen);
  ownPorts = [admin.port, proxy.port];
  const { push } = controlPlane;
  const stopFollowing = followActs(config, { push, underWay, pool: hop.pool, onSessionEnd: stdio.endSession, log });
  upstreams.watch();
  announce(upstreams.live.current());

  const stop = async (graceMs: number) => {
    isReady = false;
    // The agent may outlive the signal (docs/reference/enforcement-point.md#time-limits).
    const finishMs = Math.min(longestFinishMs, graceMs / 2);
    await delay(graceMs - finishMs);
    await proxy.drain(finishMs);
    await admin.drain(0);
    ambient?.stop();
    stopFollowing();
    await Promise.all([controlPlane.close(), upstreams.close(), recorder?.close()]);
    await events.stop();
  };
  let stopped: Promise<void> | undefined;
  return {
    port: proxy.port,
    adminPort: admin.port,
    /** `host:port`, as each is bound. */
    address: `${proxy.host}:${proxy.port}`,
    adminAddress: `${admin.host}:${admin.port}`,
    reload: upstreams.reload,
    /**
     * Reports not ready, serves until the grace period nears its end, lets calls finish, and closes. `isUrgent` skips
     * the grace period and cuts calls under way. Idempotent.
     */
    stop({ isUrgent = false }: { isUrgent?: boolean } = {}): Promise<void> {
      stopped ??= stop(isUrgent ? 0 : config.graceSeconds * 1000);
      return stopped;
    },
  };
}

/** What root grants are needed for: only the enforcement plane's bearer gets them. */
function enforcementPlaneOf({ enforcementToken, limits }: Config, hop: HopPorts): Pick<PepPorts, "beside" | "handles"> {
  if (enforcementToken === undefined) return { beside: undefined, handles: undefined };
  const options = { hop, limits, enforcementToken, now: Date.now };
  return { beside: createSessionsBeside(options), handles: createHandles(options) };
}

/** Its certificate is in the file before the first call. X.509 is loaded where it is needed. */
async function authorityOf({ tlsCaFile }: Config): Promise<Authority | undefined> {
  if (tlsCaFile === undefined) return undefined;
  const { createAuthority } = await import("./local/authority.ts");
  const authority = await createAuthority(Date.now());
  await writeFile(tlsCaFile, authority.certificate).catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`SVC_PEP_TLS_CA_FILE must name a file that can be written to (${code})`);
  });
  return authority;
}

function otherHostsOf(
  { otherHosts, controlPlane }: Config,
  { live }: ConfiguredUpstreams,
  ownPorts: () => readonly number[],
): Reachable | undefined {
  if (otherHosts === "refuse") return undefined;
  return createReachable({
    ownPorts,
    controlPlane: placeOf(controlPlane.url.origin),
    // Observing stops nothing that the agent could do without it.
    upstreams: () =>
      live
        .current()
        .all.filter(({ stdio, mode }) => !stdio && mode === "enforce")
        .map(({ origin }) => placeOf(origin)),
  });
}

const recorderOf = ({ tracePath }: Config, log: (line: string) => void): TraceRecorder | undefined =>
  tracePath === undefined
    ? undefined
    : traceRecorder(tracePath, {
        onLoss: (error) =>
          log(
            `WARNING: SVC_TRACE_PATH: call edges are being lost: ${error instanceof Error ? error.message : "unknown cause"}`,
          ),
      });

const upstreamsOf = (
  { configFile: file, mode: defaultMode, egress, publicUrl }: Config,
  stdio: StdioUpstreams,
  events: Events,
  announce: (upstreams: Upstreams) => void,
  log: (line: string) => void,
): ConfiguredUpstreams => {
  const connectByUrl = connectUpstreams(egress);
  return configuredUpstreams({
    file,
    defaultMode,
    publicUrl,
    connect: (upstream) => (upstream.stdio ? stdio.connect(upstream.stdio) : connectByUrl(upstream)),
    onConfigApplied(applied) {
      announce(applied);
      events.configurationApplied();
    },
    onConfigRefused(faults) {
      events.configurationRefused();
      for (const fault of faults) log(`${file}: ${fault}`);
    },
  });
};
