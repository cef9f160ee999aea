import { identityStatuses } from "@svc/core";
import { importJwks, type VerificationKey } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { RefreshFault } from "./get-json.ts";

const identityShape = z.object({
  agent: z.string(),
  status: z.enum(identityStatuses),
  anchor_version: z.int().min(0),
  jwks: z.object({ keys: z.array(z.unknown()) }),
  revoked: z.boolean(),
  as_of: z.iso.datetime({ offset: true }),
});

interface Pinned {
  readonly keys: readonly VerificationKey[];
  readonly anchorVersion: number;
  readonly asOfMs: number;
  /** On the monotonic clock, when it was asked for. */
  readonly askedAtMs: number;
  lastUsedMs: number;
}

/** The pinned keys of the agents that call here. An agent's first call reads them; from then on they are kept fresh. */
export interface PinnedIdentities {
  /**
   * The keys an agent may sign with: none where it is not enrolled.
   *
   * @throws {RefreshFault} where nothing fresh is known and nothing could be read
   */
  keysOf(agent: string): Promise<readonly VerificationKey[]>;
  /** Reads again what is in use and past half its freshness; forgets what is not in use. */
  refresh(): Promise<void>;
}

export interface PinnedIdentitiesOptions {
  /** The JSON at a path below `/v1/identity/`. */
  readonly get: (path: string) => Promise<unknown>;
  readonly monotonicMs: () => number;
  readonly freshnessMs: number;
}

/** Agents cached; the least recently used one is dropped. */
const capacity = 1_024;
/** Identities read at once. */
const width = 8;

export function pinnedIdentities({ get, monotonicMs, freshnessMs }: PinnedIdentitiesOptions): PinnedIdentities {
  const known = new LRUCache<string, Pinned>({ max: capacity });
  const underWay = new Map<string, Promise<Pinned>>();

  const read = async (agent: string): Promise<Pinned> => {
    const askedAtMs = monotonicMs();
    const before = known.peek(agent);
    const pinned = { ...(await readIdentity(get, agent)), askedAtMs, lastUsedMs: before?.lastUsedMs ?? askedAtMs };
    const isOlder = before && (pinned.asOfMs < before.asOfMs || pinned.anchorVersion < before.anchorVersion);
    if (isOlder) throw new RefreshFault("rolled back");
    known.set(agent, pinned);
    return pinned;
  };

  /** One request per agent at a time. */
  const load = (agent: string): Promise<Pinned> => {
    const loading = underWay.get(agent) ?? read(agent).finally(() => underWay.delete(agent));
    underWay.set(agent, loading);
    return loading;
  };

  return {
    async keysOf(agent) {
      const remembered = known.get(agent);
      const isFresh = remembered && monotonicMs() - remembered.askedAtMs <= freshnessMs;
      const pinned = isFresh ? remembered : await load(agent);
      pinned.lastUsedMs = monotonicMs();
      return pinned.keys;
    },

    async refresh() {
      const nowMs = monotonicMs();
      for (const [agent, { lastUsedMs }] of known) if (nowMs - lastUsedMs > 10 * freshnessMs) known.delete(agent);
      const isDue = (agent: string) => nowMs - (known.peek(agent)?.askedAtMs ?? nowMs) > freshnessMs / 2;
      // The least recently used first, so that reading again changes no order.
      const due = [...known.rkeys()].filter(isDue);
      const faults: unknown[] = [];
      for (let from = 0; from < due.length; from += width) {
        const loads = await Promise.allSettled(due.slice(from, from + width).map(load));
        for (const each of loads) if (each.status === "rejected") faults.push(each.reason);
      }
      if (faults.length > 0) throw faults[0];
    },
  };
}

async function readIdentity(
  get: (path: string) => Promise<unknown>,
  agent: string,
): Promise<Pick<Pinned, "keys" | "anchorVersion" | "asOfMs">> {
  const answer = await get(`agents/${encodeURIComponent(agent)}`).catch(unknownAgent);
  if (answer === undefined) return { keys: [], anchorVersion: 0, asOfMs: 0 };
  const read = identityShape.safeParse(answer);
  if (!read.success || read.data.agent !== agent) throw new RefreshFault("odd identity");
  const { status, revoked, jwks, anchor_version: anchorVersion, as_of } = read.data;
  const isEnrolled = status === "enrolled" && !revoked;
  const keys = isEnrolled ? [...(await importJwks(jwks)).values()] : [];
  return { keys, anchorVersion, asOfMs: Date.parse(as_of) };
}

/** Nobody enrolled under a name that is unknown. */
function unknownAgent(error: unknown): undefined {
  if (!(error instanceof RefreshFault) || error.status !== 404) throw error;
}
