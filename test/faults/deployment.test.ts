import type { OwnRedis } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseOutages } from "./src/scenarios/database.ts";
import { killedProcesses } from "./src/scenarios/killed-processes.ts";
import { storeFaults } from "./src/scenarios/store.ts";
import { runScenario } from "./src/stand.ts";
import { startUsualWorld, type World } from "./src/world.ts";

const scenarios = [killedProcesses, ...databaseOutages, ...storeFaults];

describe("under load, no call goes unrecorded, no token is spent twice, no deny lets a call through, and all recovers", () => {
  let world: World<OwnRedis>;
  beforeAll(async () => {
    world = await startUsualWorld();
  }, 60_000);
  afterAll(() => world?.stop());

  test.each(scenarios)(
    "$name",
    async (scenario) => {
      const outcome = await runScenario(world, scenario, { seed: 1 });
      expect(outcome.violations).toEqual([]);
    },
    120_000,
  );
});
