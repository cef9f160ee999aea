import { startRedisSentinel } from "@svc/test-support";
import { type Deployment, startDeployment, startUsualDeployment } from "../deployment.ts";
import { startSixNodes } from "../redis-cluster.ts";
import type { Scenario } from "../stand.ts";
import {
  renewedCertificates,
  rotatedCertificates,
  startDeploymentOverControlPlaneTls,
  startDeploymentOverTls,
} from "./certificates.ts";
import { slowClients } from "./clients.ts";
import { clockSteps, startDeploymentWithClock } from "./clock.ts";
import { connectionFaults } from "./connections.ts";
import { databaseOutages } from "./database.ts";
import { asynchronousFailover, synchronousFailover } from "./database-failover.ts";
import { crowd } from "./few-connections.ts";
import { fullDisk, startDeploymentOnSmallDisk } from "./full-disk.ts";
import { killedProcesses } from "./killed-processes.ts";
import { keyRotation, rollingRestart } from "./operations.ts";
import { packetFaults, startDeploymentBehindFilter } from "./packets.ts";
import {
  restoredBackup,
  restoredBackupAndEmptyStore,
  restoredToMoment,
  startDeploymentWithArchive,
} from "./restore.ts";
import { evictingStore, storeFaults } from "./store.ts";
import { clusterFaults, sentinelFailover } from "./store-failover.ts";

/** Scenarios that one deployment runs in turn. */
export interface Group {
  readonly name: string;
  readonly scenarioNames: readonly string[];
  /** Starts the deployment, and passes each scenario with it. */
  each(visit: (deployment: Deployment, scenario: Scenario) => Promise<void>): Promise<void>;
}

/** A group's scenarios know more of their deployment than their caller. */
const group = <Each extends Deployment>(
  name: string,
  start: () => Promise<Each>,
  scenarios: readonly Scenario<Each["store"]>[],
): Group => ({
  name,
  scenarioNames: scenarios.map((scenario) => scenario.name),
  async each(visit) {
    const deployment = await start();
    try {
      for (const scenario of scenarios) await visit(deployment, scenario as Scenario);
    } finally {
      await deployment.stop();
    }
  },
});

export const groups: readonly Group[] = [
  group("one cache store", startUsualDeployment, [
    killedProcesses,
    ...databaseOutages,
    ...[...storeFaults, evictingStore],
    ...connectionFaults,
    ...[keyRotation, rollingRestart, slowClients],
    // Last, since another server is primary afterwards.
    synchronousFailover,
  ]),
  group("an asynchronous standby", startUsualDeployment, [asynchronousFailover]),
  group("Sentinel", () => startDeployment({ startStore: startRedisSentinel }), [sentinelFailover]),
  group("Redis Cluster", () => startDeployment({ startStore: startSixNodes }), clusterFaults),
  group("a tool over TLS", startDeploymentOverTls, [rotatedCertificates]),
  group("control planes over TLS", startDeploymentOverControlPlaneTls, [
    renewedCertificates,
    { ...rollingRestart, name: `${rollingRestart.name}, over TLS` },
  ]),
  group("a packet filter", startDeploymentBehindFilter, packetFaults),
  group("a small disk", startDeploymentOnSmallDisk, [fullDisk]),
  group("few connections", () => startUsualDeployment({ controlPlane: { SVC_DATABASE_CONNECTIONS: "10" } }), [crowd]),
  group("a backup", startUsualDeployment, [restoredBackup]),
  group("an archive", startDeploymentWithArchive, [restoredToMoment]),
  group("a backup, and an empty cache store", startUsualDeployment, [restoredBackupAndEmptyStore]),
  group("a clock", startDeploymentWithClock, clockSteps),
];
