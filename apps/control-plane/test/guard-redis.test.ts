import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  type OwnRedis,
  type RedisCluster,
  type RedisSentinelGroup,
  requires,
  startFaultProxy,
  startOwnRedis,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
  waitUntil,
} from "@svc/test-support";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type ClaimOutcome, GuardUnavailable } from "../src/ports/replay-guard.ts";
import { parseStoreAddress } from "../src/redis/address.ts";
import { redisGuard } from "../src/redis/guard.ts";
import { redisRateLimits } from "../src/redis/rate-limit.ts";
import { guardSuite } from "./guard-suite.ts";

const { describe, test } = requires("redis-server");

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** For a store that responds: on a busy machine a response can take longer than the default deadline. */
const patient = { deadlineMs: 60_000 };

async function connected(url: string, options: { deadlineMs?: number } = {}): Promise<ReturnType<typeof redisGuard>> {
  const guard = redisGuard({ address: parseStoreAddress(url), ...options });
  await waitUntil("the guard to be connected", () => guard.ping().then(() => true));
  return guard;
}

async function ownServer(settings: readonly string[] = []): Promise<OwnRedis> {
  const server = await startOwnRedis(settings);
  undo.push(() => server.stop());
  return server;
}

async function guardOn(server: { url: string }, options = {}): ReturnType<typeof connected> {
  const guard = await connected(server.url, options);
  undo.push(() => guard.close());
  return guard;
}

const claimOf = (key = randomUUID(), actionId = "action") => ({ key, actionId, ttlSeconds: 60 });

/** A claim's first result: on a busy machine some responses are late, and a repeated claim is the same action's. */
const outcomeOf = (claim: () => Promise<ClaimOutcome>) => waitUntil("a claim to be answered", claim);

/** Any other error than GuardUnavailable fails the test. */
const refused = (attempt: Promise<unknown>): Promise<void> => expect(attempt).rejects.toBeInstanceOf(GuardUnavailable);

const kinds = [
  { kind: "single server", start: startRedis },
  { kind: "Sentinel", start: startRedisSentinel },
  { kind: "Cluster", start: startRedisCluster },
];

describe.each(kinds)("$kind", ({ kind, start }) => {
  let server: Awaited<ReturnType<typeof start>>;
  let guard: Awaited<ReturnType<typeof connected>>;

  beforeAll(async () => {
    server = await start();
    guard = await connected(server.url, patient);
  });

  afterAll(async () => {
    await guard.close();
    await server.stop();
  });

  guardSuite(kind, () => guard);
});

describe("a server that requires a password", () => {
  const users = ["user svc on >p@ss ~svc:* +@all"];
  const as = ({ port }: OwnRedis, password: string) => `redis://svc:${password}@127.0.0.1:${port}/3`;

  test("stores the claims of its user in the database of the address", async () => {
    const server = await ownServer(users);
    const guard = await guardOn({ url: as(server, "p%40ss") }, patient);
    const claim = claimOf();
    expect(await guard.claim(claim)).toBe("claimed");
    expect(await guard.claim({ ...claim, actionId: "another" })).toBe("other_action");
    expect(String(await server.command("INFO", "keyspace")).match(/^db\d+/gm)).toEqual(["db3"]);
  });

  test("rejects every claim with a wrong password", async () => {
    const server = await ownServer(users);
    const guard = redisGuard({ address: parseStoreAddress(as(server, "guessed")) });
    undo.push(() => guard.close());
    await waitUntil("the password to be refused", async () =>
      String(await server.command("ACL", "LOG")).includes("svc"),
    );
    await refused(guard.claim(claimOf()));
    expect(await server.command("DBSIZE")).toBe(0);
  });
});

describe("a frozen store", () => {
  test("rejects claims, releases and pings within the deadline", async () => {
    const server = await ownServer();
    const guard = await guardOn(server);
    server.freeze();
    const claims = Array.from({ length: 20 }, () => refused(guard.claim(claimOf())));
    await Promise.all([...claims, refused(guard.ping()), refused(guard.release(claimOf()))]);
    server.thaw();
  });

  test("a claim written late counts as its own action's, and refuses another action's", async () => {
    const server = await ownServer();
    const guard = await guardOn(server);
    server.freeze();
    const late = claimOf();
    await refused(guard.claim(late));
    server.thaw();
    await waitUntil("the late write", async () => (await server.command("GET", `svc:guard:${late.key}`)) === "action");
    await waitUntil("the guard to answer", () => guard.ping().then(() => true));
    expect(await outcomeOf(() => guard.claim(late))).toBe("same_action");
    expect(await outcomeOf(() => guard.claim(claimOf(late.key, "other")))).toBe("other_action");
  });

  test("has a bounded queue: further claims are rejected without being sent", async () => {
    const server = await ownServer();
    const guard = await guardOn(server);
    server.freeze();
    const keys = Array.from({ length: 3000 }, () => randomUUID());
    await Promise.all(keys.map((key) => refused(guard.claim(claimOf(key)))));
    server.thaw();
    await waitUntil("the guard to answer", () => guard.ping().then(() => true));
    expect(await server.command("DBSIZE")).toBeLessThanOrEqual(1025);
  });

  test("gets a new connection while the old one stays silent", async () => {
    const server = await ownServer();
    const proxy = await startFaultProxy(server.port);
    undo.push(() => proxy.stop());
    const guard = await guardOn({ url: `redis://127.0.0.1:${proxy.port}` });
    proxy.stall();
    await refused(guard.claim(claimOf()));
    const key = randomUUID();
    await outcomeOf(() => guard.claim(claimOf(key)));
  });
});

describe("an unreachable store", () => {
  test("rejects claims at once, and serves again after it restarts", async () => {
    const server = await ownServer();
    const guard = await guardOn(server);
    await server.kill();
    await waitUntil("the loss to be noticed", () =>
      guard.ping().then(
        () => false,
        () => true,
      ),
    );
    await refused(guard.claim(claimOf()));
    await server.restart();
    expect(await outcomeOf(() => guard.claim(claimOf()))).toBe("claimed");
  });

  test("from the start is connected once it runs", async () => {
    const server = await ownServer();
    await server.kill();
    const guard = redisGuard({ address: parseStoreAddress(server.url) });
    undo.push(() => guard.close());
    await refused(guard.claim(claimOf()));
    await server.restart();
    expect(await outcomeOf(() => guard.claim(claimOf()))).toBe("claimed");
  });

  test("is reported once per outage", async () => {
    const reports: unknown[] = [];
    const server = await ownServer();
    const watched = redisGuard({
      address: parseStoreAddress(server.url),
      onUnavailable: (cause) => reports.push(cause),
      ...patient,
    });
    undo.push(() => watched.close());
    await waitUntil("the guard to be connected", () => watched.ping().then(() => true));
    reports.length = 0;
    await server.kill();
    await waitUntil("the loss to be noticed", () =>
      watched.ping().then(
        () => false,
        () => true,
      ),
    );
    for (let n = 0; n < 5; n += 1) await refused(watched.claim(claimOf()));
    expect(reports).toHaveLength(1);
  });
});

describe("a failover behind Sentinel", () => {
  let group: RedisSentinelGroup;
  beforeAll(async () => {
    group = await startRedisSentinel();
  });
  afterAll(() => group.stop());

  test("rejects claims at first, then the new primary serves them with the entries of the old one", async () => {
    const guard = await guardOn(group);
    const kept = claimOf();
    await outcomeOf(() => guard.claim(kept));
    await waitUntil(
      "the entry to be on the replica",
      async () => (await group.replica.command("EXISTS", `svc:guard:${kept.key}`)) === 1,
    );
    await group.primary.kill();
    await outcomeOf(() => guard.claim(claimOf()));
    expect(await outcomeOf(() => guard.claim(claimOf(kept.key, "other")))).toBe("other_action");
  });
});

describe("a cluster that loses a node", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  test("rejects within the deadline, and serves every key again after the node restarts", async () => {
    const guard = await guardOn(cluster);
    await cluster.nodes[0]?.kill();
    const keys = Array.from({ length: 60 }, () => randomUUID());
    await waitUntil("the loss to be noticed", async () =>
      (await Promise.allSettled(keys.map((key) => guard.claim(claimOf(key))))).some(
        ({ status }) => status === "rejected",
      ),
    );
    await cluster.nodes[0]?.restart();
    await waitUntil("every key to be served", () =>
      Promise.all(keys.map((key) => guard.claim(claimOf(key)))).then(() => true),
    );
  });
});

describe("one node of a cluster that is given as a single server", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  test("rejects pings with a line that names the setting and the remedy", async () => {
    for (const { url } of cluster.nodes) {
      const guard = redisGuard({ address: parseStoreAddress(url), ...patient });
      undo.push(() => guard.close());
      await guard.connected(60_000);
      await expect(guard.ping()).rejects.toThrow(/^REDIS_URL: it is one node of a cluster.*redis\+cluster:/);
    }
  });
});

/** As docs/guides/operations.md#redis lists them. */
const [, listedRights = ""] =
  /^user svc on >PASSWORD (.*)$/m.exec(
    readFileSync(new URL("operations.md", new URL("../../../docs/guides/", import.meta.url)), "utf8"),
  ) ?? [];
const granting = (server: OwnRedis, rights = listedRights) =>
  server.command("ACL", "SETUSER", "svc", "on", ">secret", ...rights.split(" "));
const asUser = (url: string) => url.replace("://", "://svc:secret@");

describe("a user with the listed rights alone", () => {
  test.each([
    ["of a single server", async () => ownServer().then((server) => ({ url: `${server.url}/2`, servers: [server] }))],
    [
      "of a cluster",
      async () => {
        const cluster = await startRedisCluster();
        undo.push(() => cluster.stop());
        return { url: cluster.url, servers: cluster.nodes };
      },
    ],
    [
      "of servers behind Sentinel",
      async () => {
        const group = await startRedisSentinel();
        undo.push(() => group.stop());
        return { url: group.url, servers: [group.primary, group.replica] };
      },
    ],
  ])("%s serves guard, marks and rate limits, and nothing is denied", async (_name, start) => {
    const { url, servers } = await start();
    for (const server of servers) await granting(server);
    const reports: unknown[] = [];
    const address = parseStoreAddress(asUser(url));
    const guard = redisGuard({ address, onUnavailable: (cause) => reports.push(cause), ...patient });
    const limits = redisRateLimits({ address, onUnavailable: (cause) => reports.push(cause), ...patient });
    undo.push(() => guard.close());
    undo.push(async () => limits.close());
    await guard.connected(60_000);
    await guard.ping();
    const claim = claimOf();
    expect(await guard.claim(claim)).toBe("claimed");
    expect(await guard.claim({ ...claim, actionId: "another" })).toBe("other_action");
    await guard.release(claim);
    await guard.keep({ deployment: claim.key, count: 7n });
    expect(await guard.seen(claim.key)).toBe(7n);
    expect(await guard.evictionPolicy()).toBe("keeps");
    const limit = limits.limit("bearer", { calls: 1, seconds: 60 });
    await waitUntil("a call to be counted by the store", async () => {
      await limit.take(claim.key);
      const counted = await Promise.all(servers.map((server) => server.command("INFO", "commandstats")));
      return counted.join("").includes("cmdstat_incrby");
    });
    reports.length = 0;
    await guard.ping();
    await limit.take(claim.key);
    for (const server of servers) expect(JSON.stringify(await server.command("ACL", "LOG"))).toBe("[]");
    expect(reports).toEqual([]);
  });

  test("but without INFO reports no outage, and the policy is unknown", async () => {
    const server = await ownServer();
    await granting(server, listedRights.replace(" +info", ""));
    const reports: unknown[] = [];
    const address = parseStoreAddress(asUser(server.url));
    const guard = redisGuard({ address, onUnavailable: (cause) => reports.push(cause), ...patient });
    undo.push(() => guard.close());
    await guard.connected(60_000);
    await guard.ping();
    expect(await guard.evictionPolicy()).toBe("unknown");
    await guard.ping();
    expect(reports).toEqual([]);
  });

  test.each(["set", "get", "del", "eval"])("but without %s is not ready, and the line names the page", async (name) => {
    const server = await ownServer();
    await granting(server, listedRights.replace(` +${name}`, ""));
    const guard = redisGuard({ address: parseStoreAddress(asUser(server.url)), ...patient });
    undo.push(() => guard.close());
    await guard.connected(60_000);
    await expect(guard.ping()).rejects.toThrow(/^REDIS_URL: its user may not run .*docs\/guides\/operations.md/);
  });
});

describe("a store that may lose an entry", () => {
  test.each(["allkeys-lru", "volatile-ttl"])("by its policy %s is detected", async (policy) => {
    const guard = await guardOn(await ownServer([`maxmemory-policy ${policy}`]), patient);
    expect(await guard.evictionPolicy()).toBe("evicts");
  });

  test("since it is read-only rejects pings and claims", async () => {
    const primary = await ownServer();
    const replica = await ownServer([`replicaof 127.0.0.1 ${primary.port}`]);
    const guard = redisGuard({ address: parseStoreAddress(replica.url) });
    undo.push(() => guard.close());
    await waitUntil("the guard to be connected", () => guard.evictionPolicy().then((policy) => policy !== "unknown"));
    await refused(guard.ping());
    await refused(guard.claim(claimOf()));
  });

  test("of unreadable policy is unknown, and still serves", async () => {
    const server = await ownServer();
    await server.command("ACL", "SETUSER", "svc", "on", ">secret", "~*", "+@all", "-info");
    const guard = await connected(`redis://svc:secret@127.0.0.1:${server.port}`, patient);
    undo.push(() => guard.close());
    expect(await guard.evictionPolicy()).toBe("unknown");
    expect(await guard.claim(claimOf())).toBe("claimed");
  });
});
