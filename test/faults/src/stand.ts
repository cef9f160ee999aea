import type { RedisServer } from "@svc/test-support";
import { waitUntil } from "@svc/test-support";
import type { Evidence } from "./checker/evidence.ts";
import { readRecorded } from "./checker/recorded.ts";
import { findViolations, type Violation, type ViolationKind } from "./checker/violations.ts";
import { type Load, startLoad, type Tally } from "./load/load.ts";
import { type Random, seededRandom } from "./random.ts";
import type { World } from "./world.ts";

/** What a scenario has at hand: the servers to break, the calls that go on meanwhile, and the choices of its seed. */
export interface Stand<Store extends RedisServer = RedisServer> {
  readonly world: World<Store>;
  readonly load: Load;
  readonly random: Random;
}

export interface Scenario<Store extends RedisServer = RedisServer> {
  /** What is injected. */
  readonly name: string;
  /** What this fault may lose even so, since no service could keep it; told apart, and nothing else is tolerated. */
  readonly mayLose?: readonly ViolationKind[];
  /** Agents that call meanwhile, where it takes more than usual. */
  readonly agents?: number;
  /** Injects the fault under load, leaves everything mended, and says how often. */
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
  /** Violations of the kinds that the scenario says it may lose. */
  readonly lost: readonly Violation[];
}

export interface RunOptions {
  readonly seed: number;
  /** Between two calls of an agent, at most. */
  readonly pauseMs?: number;
}

const fewAgents = 6;

/**
 * Runs a scenario under load until calls pass again through every process, and judges all that this world ever did.
 * @throws where it does not recover by itself
 */
export async function runScenario<Store extends RedisServer>(
  world: World<Store>,
  scenario: Scenario<Store>,
  { seed, pauseMs = 20 }: RunOptions,
): Promise<Outcome> {
  const { agents = fewAgents } = scenario;
  const random = seededRandom(seed);
  const load = startLoad({
    controlPlaneUrl: world.controlPlaneUrl,
    enforcementPointUrls: world.enforcementPoints.map(({ url }) => url),
    agents,
    pauseMs,
    random: random.fork(),
  });
  let injected: number;
  let replaysRefused: number;
  const arrivedBefore = world.upstream.arrivals.length;
  try {
    await load.passes(agents * 2);
    injected = await scenario.inject({ world, load, random });
    await recovered(world);
    await load.passes(agents * 2);
    replaysRefused = await load.replay();
  } finally {
    await load.stop();
  }
  const found = findViolations(await evidenceOf(world, load));
  const isTolerated = ({ kind }: Violation) => scenario.mayLose?.includes(kind) ?? false;
  return {
    scenario: scenario.name,
    injected,
    calls: load.tally(),
    arrivals: world.upstream.arrivals.length - arrivedBefore,
    replaysRefused,
    violations: found.filter((violation) => !isTolerated(violation)),
    lost: found.filter(isTolerated),
  };
}

export const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

export const readiness = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status;

/** Every control plane says by itself that it serves again. */
export async function recovered({ controlPlanes }: Pick<World, "controlPlanes">): Promise<void> {
  for (const { name, url, hasExited, output } of controlPlanes) {
    const isReady = async () => hasExited() || (await readiness(url)) === 200;
    await waitUntil(`${name} to be ready`, isReady);
    if (hasExited()) throw new Error(`${name} ended by itself:\n${output().slice(-2_000)}`);
  }
}

/** Every control plane says that it cannot serve. */
export async function unready({ controlPlanes }: Pick<World, "controlPlanes">): Promise<void> {
  for (const { name, url } of controlPlanes) {
    await waitUntil(`${name} to be unready`, async () => (await readiness(url)) === 503);
  }
}

/** Whoever is primary now says what was recorded. */
export async function evidenceOf(world: World, load: Pick<Load, "replies" | "replaysGranted">): Promise<Evidence> {
  const recorded = await readRecorded(world.database.superuserUrl(world.databaseAddress.port));
  const { replies, replaysGranted } = load;
  return { ...recorded, replies, replaysGranted, arrivals: world.upstream.arrivals };
}
