import type { RedisServer } from "@svc/test-support";
import { waitUntil } from "@svc/test-support";
import type { Evidence } from "./checker/evidence.ts";
import { readRecorded } from "./checker/recorded.ts";
import { findViolations, type Violation } from "./checker/violations.ts";
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
  /** Injects the fault, so often, under load; leaves everything mended. */
  inject(stand: Stand<Store>): Promise<number>;
}

export interface Outcome {
  readonly scenario: string;
  readonly injected: number;
  readonly calls: Tally;
  /** Requests that upstreams received. */
  readonly arrivals: number;
  readonly violations: readonly Violation[];
}

export interface RunOptions {
  readonly seed: number;
  readonly agents?: number;
  /** Between two calls of an agent, at most. */
  readonly pauseMs?: number;
}

/**
 * Runs a scenario under load until calls pass again through every process, and judges all that this world ever did.
 * @throws where it does not recover by itself
 */
export async function runScenario<Store extends RedisServer>(
  world: World<Store>,
  scenario: Scenario<Store>,
  { seed, agents = 6, pauseMs = 20 }: RunOptions,
): Promise<Outcome> {
  const random = seededRandom(seed);
  const load = startLoad({
    controlPlaneUrl: urlOf(world.controlPlaneAddress.port),
    enforcementPointUrls: world.enforcementPoints.map(({ port }) => urlOf(port)),
    agents,
    pauseMs,
    random: random.fork(),
  });
  let injected: number;
  const arrivedBefore = world.upstream.arrivals.length;
  try {
    await load.passes(agents * 2);
    injected = await scenario.inject({ world, load, random });
    await recovered(world);
    await load.passes(agents * 3);
  } finally {
    await load.stop();
  }
  const evidence = await evidenceOf(world, load);
  return {
    scenario: scenario.name,
    injected,
    calls: load.tally(),
    arrivals: world.upstream.arrivals.length - arrivedBefore,
    violations: findViolations(evidence),
  };
}

export const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

export const readiness = async (port: number): Promise<number> => (await fetch(`${urlOf(port)}/readyz`)).status;

/** Every control plane says by itself that it serves again. */
export async function recovered({ controlPlanes }: Pick<World, "controlPlanes">): Promise<void> {
  for (const { name, port } of controlPlanes) {
    await waitUntil(`${name} to be ready`, async () => (await readiness(port)) === 200, 30_000);
  }
}

/** Every control plane says that it cannot serve. */
export async function unready({ controlPlanes }: Pick<World, "controlPlanes">): Promise<void> {
  for (const { name, port } of controlPlanes) {
    await waitUntil(`${name} to be unready`, async () => (await readiness(port)) === 503, 30_000);
  }
}

/** Whoever is primary now says what was recorded. */
export async function evidenceOf(world: World, load: Pick<Load, "replies">): Promise<Evidence> {
  const recorded = await readRecorded(world.database.superuserUrl(world.databaseAddress.port));
  return { ...recorded, replies: load.replies, arrivals: world.upstream.arrivals };
}
