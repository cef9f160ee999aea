import type { Connect, UpstreamConnections } from "./connect-upstream.ts";
import type { Upstream, Upstreams } from "./upstream.ts";

export type LiveUpstreams = ReturnType<typeof createLiveUpstreams>;
export type Generation = ReturnType<LiveUpstreams["acquire"]>;

/** The configuration in force. A replaced one stays until its last call is over. */
export function createLiveUpstreams(first: Upstreams, connect: Connect) {
  let current = createPools(first, connect);
  const open = new Set([current]);
  const closeIfUnused = (pools: typeof current) => {
    if (pools === current || pools.calls > 0) return;
    open.delete(pools);
    void pools.destroy();
  };
  return {
    get current(): Upstreams {
      return current.upstreams;
    },
    /** The configuration that a call begins with. */
    acquire() {
      const pools = current;
      const { upstreams, dispatcherOf } = pools;
      pools.calls += 1;
      return {
        upstreams,
        dispatcherOf,
        /** Called once, when the call is over. */
        release() {
          pools.calls -= 1;
          closeIfUnused(pools);
        },
      };
    },
    replace(upstreams: Upstreams) {
      const replaced = current;
      current = createPools(upstreams, connect);
      open.add(current);
      closeIfUnused(replaced);
    },
    /** Ends every connection at once; for the end of the process. */
    async destroy() {
      await Promise.all([...open].map((pools) => pools.destroy()));
    },
  };
}

function createPools(upstreams: Upstreams, connect: Connect) {
  const byName = new Map<string, UpstreamConnections>();
  return {
    upstreams,
    calls: 0,
    dispatcherOf(upstream: Upstream): UpstreamConnections {
      const known = byName.get(upstream.name);
      if (known) return known;
      const made = connect(upstream);
      byName.set(upstream.name, made);
      return made;
    },
    async destroy() {
      await Promise.all([...byName.values()].map((connections) => connections.destroy()));
    },
  };
}
