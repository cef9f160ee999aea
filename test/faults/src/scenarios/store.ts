import { type OwnRedis, waitUntil } from "@svc/test-support";
import type { Scenario, Stand } from "../stand.ts";
import { unready } from "../stand.ts";

const outage = (
  name: string,
  { begin, end }: { begin(store: OwnRedis): unknown; end(store: OwnRedis): unknown },
): Scenario<OwnRedis> => ({
  name,
  async inject({ deployment, load }: Stand<OwnRedis>) {
    await begin(deployment.store);
    try {
      await unready(deployment);
      await load.fails(8);
    } finally {
      await end(deployment.store);
    }
    return 1;
  },
});

/** It loses spends like a flushed one, so readiness refuses it; the database has them meanwhile. */
export const evictingStore: Scenario<OwnRedis> = {
  name: "Redis set to evict, and filled until it does",
  async inject({ deployment, load }) {
    const { store } = deployment;
    const set = async (policy: string, maxmemory: string) => {
      await store.command("CONFIG", "SET", "maxmemory-policy", policy);
      await store.command("CONFIG", "SET", "maxmemory", maxmemory);
    };
    await load.passes(20);
    await set("allkeys-lru", "4mb");
    try {
      await unready(deployment);
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
  outage("Redis killed, and its data lost", {
    begin: (store) => store.kill(),
    end: (store) => store.restart(),
  }),
  outage("Redis stopped (SIGSTOP)", {
    begin: (store) => store.freeze(),
    end: (store) => store.thaw(),
  }),
  {
    name: "Redis flushed",
    async inject({ deployment, load }) {
      for (let times = 0; times < 5; times += 1) {
        await load.passes(10);
        await deployment.store.command("FLUSHALL");
      }
      return 5;
    },
  },
];
