import { type Random, type RedisServer, seededRandom, waitUntil } from "@svc/test-support";
import type { Evidence } from "./checker/evidence.ts";
import { readRecorded } from "./checker/recorded.ts";
import { findViolations, type Violation, type ViolationKind } from "./checker/violations.ts";
import type { Deployment } from "./deployment.ts";
import { type Load, startLoad, type Tally } from "./load/load.ts";

/** A scenario's tools: the servers to break, the calls meanwhile, and the seed's choices. */
export interface Stand<Store extends RedisServer = RedisServer> {
  readonly deployment: Deployment<Store>;
  readonly load: Load;
  readonly random: Random;
}

export interface Scenario<Store extends RedisServer = RedisServer> {
  /** The injected fault. */
  readonly name: string;
  /** The violations that this fault may cause, since no service could prevent them; they are reported apart. */
  readonly mayLose?: readonly ViolationKind[];
  /** Number of calling agents, where it needs more than usual. */
  readonly agents?: number;
  /** Injects the fault under load, repairs everything, and returns how often. */
  inject(stand: Stand<Store>): Promise<number>;
}

export interface Outcome {
  readonly scenario: string;
  readonly injected: number;
  readonly calls: Tally;
  /** Requests that upstreams received. */
  readonly arrivals: number;
  /** Spent tokens that were presented again at the end, and refused. */
  readonly replaysRefused: number;
  readonly violations: readonly Violation[];
  /** Violations of the kinds that the scenario allows. */
  readonly lost: readonly Violation[];
}

export interface RunOptions {
  readonly seed: number;
  /** Longest pause between two calls of an agent. */
  readonly pauseMs?: number;
}

const fewAgents = 6;

/**
 * Runs a scenario under load until calls pass again through every process, and checks the deployment's whole evidence.
 * @throws where it does not recover without a restart
 */
export async function runScenario<Store extends RedisServer>(
  deployment: Deployment<Store>,
  scenario: Scenario<Store>,
  { seed, pauseMs = 20 }: RunOptions,
): Promise<Outcome> {
  const { agents = fewAgents } = scenario;
  const random = seededRandom(seed);
  const load = startLoad({
    controlPlaneUrl: deployment.controlPlaneUrl,
    enforcementPointUrls: deployment.enforcementPoints.map(({ url }) => url),
    agents,
    pauseMs,
    random: random.fork(),
  });
  let injected: number;
  let replaysRefused: number;
  const arrivedBefore = deployment.upstream.arrivals.length;
  try {
    await load.passes(agents * 2);
    injected = await scenario.inject({ deployment, load, random });
    await recovered(deployment);
    await load.passes(agents * 2);
    replaysRefused = await load.replay();
  } finally {
    await load.stop();
  }
  const found = findViolations(await evidenceOf(deployment, load));
  const isTolerated = ({ kind }: Violation) => scenario.mayLose?.includes(kind) ?? false;
  return {
    scenario: scenario.name,
    injected,
    calls: load.tally(),
    arrivals: deployment.upstream.arrivals.length - arrivedBefore,
    replaysRefused,
    violations: found.filter((violation) => !isTolerated(violation)),
    lost: found.filter(isTolerated),
  };
}

export const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

export const readiness = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status;

/** Every control plane reports that it serves again. */
export async function recovered({ controlPlanes }: Pick<Deployment, "controlPlanes">): Promise<void> {
  for (const { name, url, hasExited, output } of controlPlanes) {
    const isReady = async () => hasExited() || (await readiness(url)) === 200;
    await waitUntil(`${name} to be ready`, isReady);
    if (hasExited()) throw new Error(`${name} exited unexpectedly:\n${output().slice(-2_000)}`);
  }
}

/** Every control plane reports that it cannot serve. */
export async function unready({ controlPlanes }: Pick<Deployment, "controlPlanes">): Promise<void> {
  for (const { name, url } of controlPlanes) {
    await waitUntil(`${name} to be unready`, async () => (await readiness(url)) === 503);
  }
}

/** Reads the record from the current primary. */
export async function evidenceOf(
  deployment: Deployment,
  load: Pick<Load, "replies" | "replaysGranted">,
): Promise<Evidence> {
  const recorded = await readRecorded(deployment.database.superuserUrl(deployment.databaseAddress.port));
  const { replies, replaysGranted } = load;
  return { ...recorded, replies, replaysGranted, arrivals: deployment.upstream.arrivals };
}
