import { startRedisSentinel } from "@svc/test-support";
import { startSixNodes } from "../redis-cluster.ts";
import type { Scenario } from "../stand.ts";
import { startUsualWorld, startWorld, type World } from "../world.ts";
import {
  renewedCertificates,
  rotatedCertificates,
  startWorldOverControlPlaneTls,
  startWorldOverTls,
} from "./certificates.ts";
import { slowClients } from "./clients.ts";
import { clockSteps, startWorldWithClock } from "./clock.ts";
import { connectionFaults } from "./connections.ts";
import { databaseOutages } from "./database.ts";
import { asynchronousFailover, synchronousFailover } from "./database-failover.ts";
import { crowd } from "./few-connections.ts";
import { fullDisk, startWorldOnSmallDisk } from "./full-disk.ts";
import { killedProcesses } from "./killed-processes.ts";
import { keyRotation, rollingRestart } from "./operations.ts";
import { packetFaults, startWorldBehindFilter } from "./packets.ts";
import { restoredBackup, restoredBackupAndEmptyStore, restoredToMoment, startWorldWithArchive } from "./restore.ts";
import { evictingStore, storeFaults } from "./store.ts";
import { clusterFaults, sentinelFailover } from "./store-failover.ts";

/** Scenarios that one world goes through in turn. */
export interface Group {
  readonly name: string;
  readonly scenarioNames: readonly string[];
  /** Starts the world, and hands each scenario over with it. */
  each(visit: (world: World, scenario: Scenario) => Promise<void>): Promise<void>;
}

/** The scenarios of a group know more of their world than whoever runs them. */
const group = <Each extends World>(
  name: string,
  start: () => Promise<Each>,
  scenarios: readonly Scenario<Each["store"]>[],
): Group => ({
  name,
  scenarioNames: scenarios.map((scenario) => scenario.name),
  async each(visit) {
    const world = await start();
    try {
      for (const scenario of scenarios) await visit(world, scenario as Scenario);
    } finally {
      await world.stop();
    }
  },
});

export const groups: readonly Group[] = [
  group("one cache store", startUsualWorld, [
    killedProcesses,
    ...databaseOutages,
    ...[...storeFaults, evictingStore],
    ...connectionFaults,
    ...[keyRotation, rollingRestart, slowClients],
    // Last, since another server is primary afterwards.
    synchronousFailover,
  ]),
  group("an asynchronous standby", startUsualWorld, [asynchronousFailover]),
  group("Sentinel", () => startWorld({ startStore: startRedisSentinel }), [sentinelFailover]),
  group("Redis Cluster", () => startWorld({ startStore: startSixNodes }), clusterFaults),
  group("a tool over TLS", startWorldOverTls, [rotatedCertificates]),
  group("control planes over TLS", startWorldOverControlPlaneTls, [
    renewedCertificates,
    { ...rollingRestart, name: `${rollingRestart.name}, over TLS` },
  ]),
  group("a packet filter", startWorldBehindFilter, packetFaults),
  group("a small disk", startWorldOnSmallDisk, [fullDisk]),
  group("few connections", () => startUsualWorld({ controlPlane: { SVC_DATABASE_CONNECTIONS: "10" } }), [crowd]),
  group("a backup", startUsualWorld, [restoredBackup]),
  group("an archive", startWorldWithArchive, [restoredToMoment]),
  group("a backup, and an empty cache store", startUsualWorld, [restoredBackupAndEmptyStore]),
  group("a clock", startWorldWithClock, clockSteps),
];
