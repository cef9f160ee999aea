import { type OwnRedis, requires } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { type Deployment, startUsualDeployment } from "./src/deployment.ts";
import { terminatedConnections } from "./src/scenarios/connections.ts";
import { databaseShutDown, stoppedDatabase } from "./src/scenarios/database.ts";
import { synchronousFailover } from "./src/scenarios/database-failover.ts";
import { killedProcesses } from "./src/scenarios/killed-processes.ts";
import { storeFaults } from "./src/scenarios/store.ts";
import { runScenario } from "./src/stand.ts";

const { describe, test } = requires("postgresql", "redis-server");

/** One deployment runs these in turn; the others take longer and run by `pnpm faults`. */
const scenarios = [
  killedProcesses,
  ...[databaseShutDown, stoppedDatabase, terminatedConnections],
  ...storeFaults,
  // Last, since another server is primary afterwards.
  synchronousFailover,
];

describe("under load with faults, every call is recorded, no token is spent twice, no denied call passes, and service recovers", () => {
  let deployment: Deployment<OwnRedis>;
  beforeAll(async () => {
    deployment = await startUsualDeployment();
  });
  afterAll(() => deployment?.stop());

  test.each(scenarios)("$name", async (scenario) => {
    const { violations, lost, calls, replaysRefused } = await runScenario(deployment, scenario, { seed: 1 });
    expect([violations, lost]).toEqual([[], []]);
    expect([calls.passed, calls.denied, replaysRefused]).not.toContain(0);
  });
});
