export { freePort } from "@svc/host/child-program";
export type { AnswerFault } from "./answer-fault.ts";
export {
  type AppMain,
  type AppOptions,
  type ControlPlane,
  type EnforcementPoint,
  fromCheckout,
  programOf,
  spawnApp,
  startApp,
  startControlPlane,
  startEnforcementPoint,
  testBearers,
} from "./app.ts";
export { writeCertificate } from "./certificate.ts";
export { type Child, type ChildOptions, startChild } from "./child.ts";
export { type DevLine, type DevStack, spawnDev } from "./dev-stack.ts";
export { type EchoUpstream, type ReceivedRequest, startEchoUpstream } from "./echo-upstream.ts";
export { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export { hostileBodies, hostileContentTypes, plainContentTypes } from "./hostile-bodies.ts";
export { installDebianPackages } from "./machine/debian-packages.ts";
export { isThere, locate } from "./machine/locate.ts";
export { requires } from "./machine/requires.ts";
export {
  aManifest,
  aScope,
  aTool,
  capabilitiesOf,
  type ManifestDocument,
  type ScopeDocument,
  type ToolDocument,
} from "./manifests.ts";
export { budgets, ownBudgets, patience } from "./patience.ts";
export { type Pooler, startPgBouncer } from "./pgbouncer.ts";
export {
  createDatabase,
  createMigratedDatabase,
  type PostgresServer,
  startPostgres,
  type TestDatabase,
} from "./postgres.ts";
export { promotedBytes } from "./promoted-bytes.ts";
export { type Random, seededRandom } from "./random.ts";
export { type OwnRedis, type RedisServer, startOwnRedis, startRedis, startRedisIfThere } from "./redis.ts";
export { type RedisCluster, type RedisSentinelGroup, startRedisCluster, startRedisSentinel } from "./redis-groups.ts";
export { runCommand } from "./run-command.ts";
export { waitUntil } from "./wait-until.ts";
