import type { Connect, UpstreamConnections } from "./connect-upstream.ts";
import type { Upstream, Upstreams } from "./upstream.ts";

/** The configuration that a call began with. */
export interface Generation {
  readonly upstreams: Upstreams;
  dispatcherOf(upstream: Upstream): Pick<UpstreamConnections, "dispatch">;
  /** Called once, when the call is over. */
  release(): void;
}

/** The configuration in force. A replaced one stays until its last call is over. */
export interface LiveUpstreams {
  acquire(): Generation;
  readonly current: Upstreams;
  replace(upstreams: Upstreams): void;
  /** Ends every connection at once; for the end of the process. */
  destroy(): Promise<void>;
}

export function createLiveUpstreams(first: Upstreams, connect: Connect): LiveUpstreams {
  let current = createPools(first, connect);
  const open = new Set([current]);
  const closeIfUnused = (pools: typeof current) => {
    if (pools === current || pools.calls > 0) return;
    open.delete(pools);
    void pools.destroy();
  };
  return {
    get current() {
      return current.upstreams;
    },
    acquire() {
      const pools = current;
      pools.calls += 1;
      return {
        upstreams: pools.upstreams,
        dispatcherOf: pools.dispatcherOf,
        release() {
          pools.calls -= 1;
          closeIfUnused(pools);
        },
      };
    },
    replace(upstreams) {
      const replaced = current;
      current = createPools(upstreams, connect);
      open.add(current);
      closeIfUnused(replaced);
    },
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
