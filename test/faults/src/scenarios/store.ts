import { type OwnRedis, waitUntil } from "@svc/test-support";
import type { Scenario, Stand } from "../stand.ts";
import { unready } from "../stand.ts";

const outage = (
  name: string,
  { begin, end }: { begin(store: OwnRedis): unknown; end(store: OwnRedis): unknown },
): Scenario<OwnRedis> => ({
  name,
  async inject({ world, load }: Stand<OwnRedis>) {
    await begin(world.store);
    try {
      await unready(world);
      await load.fails(8);
    } finally {
      await end(world.store);
    }
    return 1;
  },
});

/** It forgets spends like one that was flushed, so readiness refuses it; the database remembers meanwhile. */
export const evictingStore: Scenario<OwnRedis> = {
  name: "Redis set to evict, and filled until it does",
  async inject({ world, load }) {
    const { store } = world;
    const set = async (policy: string, maxmemory: string) => {
      await store.command("CONFIG", "SET", "maxmemory-policy", policy);
      await store.command("CONFIG", "SET", "maxmemory", maxmemory);
    };
    await load.passes(20);
    await set("allkeys-lru", "4mb");
    try {
      await unready(world);
      await waitUntil("entries of the guard to be evicted", async () => {
        await store.command("EVAL", fill, "0", crypto.randomUUID());
        return /^evicted_keys:[1-9]\d{3}/m.test(String(await store.command("INFO", "stats")));
      });
      await load.passes(40);
    } finally {
      await set("noeviction", "0");
    }
    return 1;
  },
};

/** A script evicts before it runs and not while it does. */
const fill = "for i = 1, 2000 do redis.call('SET', 'filler:' .. ARGV[1] .. i, string.rep('x', 500)) end";

export const storeFaults: readonly Scenario<OwnRedis>[] = [
  outage("Redis killed, and everything forgotten", {
    begin: (store) => store.kill(),
    end: (store) => store.restart(),
  }),
  outage("Redis stands still (SIGSTOP)", {
    begin: (store) => store.freeze(),
    end: (store) => store.thaw(),
  }),
  {
    name: "Redis flushed",
    async inject({ world, load }) {
      for (let times = 0; times < 5; times += 1) {
        await load.passes(10);
        await world.store.command("FLUSHALL");
      }
      return 5;
    },
  },
];
