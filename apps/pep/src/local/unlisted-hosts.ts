import type { UnlistedHosts as UnlistedHostsBody } from "@svc/core";

type HostOutcome = UnlistedHostsBody["hosts"][number]["outcome"];

/** Some 300 bytes each. */
const maxHosts = 1_000;
/** The longest DNS name, with a port. */
const maxLength = 261;

/** Counts calls to hosts that no upstream lists, and unused tunnels, for `GET /__svc/hosts`. In memory and bounded. */
export function createUnlistedHosts() {
  const counts = new Map<string, { readonly host: string; readonly outcome: HostOutcome; count: number }>();
  let dropped = 0;
  return {
    /** @param host an authority in normal spelling */
    note(host: string, outcome: HostOutcome) {
      const key = `${outcome} ${host}`;
      const known = counts.get(key);
      if (known) known.count += 1;
      else if (counts.size < maxHosts && host.length <= maxLength) counts.set(key, { host, outcome, count: 1 });
      else dropped += 1;
    },
    /** The most frequent first. `dropped`: calls that found the list full, or whose host is no name. */
    read: () => ({ hosts: [...counts.values()].sort((a, b) => b.count - a.count), dropped }),
  };
}

export type UnlistedHosts = ReturnType<typeof createUnlistedHosts>;
