interface Claim {
  readonly key: string;
  readonly actionId: string;
}

const sweepEveryMs = 60_000;

/**
 * The replay guard and the high-water mark of a single process: no other process sees them, and a restart forgets them.
 * The database decides all the same.
 * @param monotonicMs a clock that no step of the wall clock moves
 */
export function embeddedGuard(monotonicMs: () => number = () => performance.now()) {
  const entries = new Map<string, { readonly actionId: string; readonly expiresAtMs: number }>();
  let sweptAtMs = monotonicMs();

  const sweep = (nowMs: number): void => {
    if (nowMs - sweptAtMs < sweepEveryMs) return;
    sweptAtMs = nowMs;
    for (const [key, { expiresAtMs }] of entries) if (expiresAtMs <= nowMs) entries.delete(key);
  };

  return {
    ...embeddedWitness(),
    async claim({ key, actionId, ttlSeconds }: Claim & { readonly ttlSeconds: number }) {
      const nowMs = monotonicMs();
      sweep(nowMs);
      const earlier = entries.get(key);
      if (earlier !== undefined && earlier.expiresAtMs > nowMs) {
        return earlier.actionId === actionId ? "same_action" : "other_action";
      }
      entries.set(key, { actionId, expiresAtMs: nowMs + ttlSeconds * 1000 });
      return "claimed";
    },
    async release({ key, actionId }: Claim) {
      if (entries.get(key)?.actionId === actionId) entries.delete(key);
    },
    /** Entries in memory; an expired one is removed within a minute. */
    size: () => entries.size,
    async ping() {},
    evictionPolicy: async () => "keeps" as const,
    async connected() {},
    async close() {},
  };
}

/** The highest count seen of each deployment: detects a database restored while the process runs. */
export function embeddedWitness() {
  const counts = new Map<string, bigint>();
  const seen = (deployment: string): bigint => counts.get(deployment) ?? 0n;
  return {
    seen: async (deployment: string) => seen(deployment),
    async keep({ deployment, count }: { readonly deployment: string; readonly count: bigint }) {
      if (count > seen(deployment)) counts.set(deployment, count);
    },
  };
}
