import type { OwnRedis } from "@svc/test-support";
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
