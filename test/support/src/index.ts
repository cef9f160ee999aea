export { type Child, type ChildOptions, startChild } from "./child.ts";
export { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export { freePort } from "./free-port.ts";
export { type OwnRedis, type RedisServer, startOwnRedis, startRedis } from "./redis.ts";
export { type RedisCluster, type RedisSentinelGroup, startRedisCluster, startRedisSentinel } from "./redis-groups.ts";
export { waitUntil } from "./wait-until.ts";
