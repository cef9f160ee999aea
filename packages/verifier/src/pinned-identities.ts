import { type agentIdentity, identityStatuses } from "@svc/core";
import { importJwks, type VerificationKey } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import { z } from "zod/mini";
import { RefreshFault } from "./get-json.ts";

type PinnedMember = "agent" | "status" | "anchor_version" | "revoked" | "as_of";

/** Of the route's schema what is read here. */
const identityShape = z.object({
  agent: z.string(),
  status: z.enum(identityStatuses),
  anchor_version: z.int().check(z.minimum(0)),
  jwks: z.object({ keys: z.array(z.unknown()) }),
  revoked: z.boolean(),
  as_of: z.iso.datetime({ offset: true }),
}) satisfies z.ZodMiniType<Pick<z.output<typeof agentIdentity>, PinnedMember>>;

interface Pinned {
  readonly keys: readonly VerificationKey[];
  readonly anchorVersion: number;
  readonly asOfMs: number;
  /** Start of the request on the monotonic clock. */
  readonly requestedAtMs: number;
  lastUsedMs: number;
}

/** Agents cached; the least recently used one is dropped. */
const capacity = 1_024;
/** Identities read concurrently. */
const concurrency = 8;

/**
 * The pinned keys of calling agents: read at an agent's first call, then refreshed in the background.
 * @param get reads the JSON at a path below `/v1/identity/`
 */
export function pinnedIdentities(
  get: (path: string) => Promise<unknown>,
  monotonicMs: () => number,
  freshnessMs: number,
) {
  const known = new LRUCache<string, Pinned>({ max: capacity });
  const underWay = new Map<string, Promise<Pinned>>();

  const read = async (agent: string): Promise<Pinned> => {
    const requestedAtMs = monotonicMs();
    const before = known.peek(agent);
    const pinned = {
      ...(await readIdentity(get, agent)),
      requestedAtMs,
      lastUsedMs: before?.lastUsedMs ?? requestedAtMs,
    };
    const isOlder = before && (pinned.asOfMs < before.asOfMs || pinned.anchorVersion < before.anchorVersion);
    if (isOlder) throw new RefreshFault("rolled back");
    return pinned;
  };

  /** One request per agent at a time. What was read before the agent was forgotten is read again. */
  const load = (agent: string): Promise<Pinned> => {
    const already = underWay.get(agent);
    if (already) return already;
    const isCurrent = () => underWay.get(agent) === loading;
    const loading: Promise<Pinned> = read(agent)
      .then((pinned) => {
        if (!isCurrent()) return load(agent);
        known.set(agent, pinned);
        return pinned;
      })
      .finally(() => isCurrent() && underWay.delete(agent));
    underWay.set(agent, loading);
    return loading;
  };

  return {
    /** The keys of an enrolled agent; none for any other. @throws {RefreshFault} where no fresh identity can be read */
    async keysOf(agent: string): Promise<readonly VerificationKey[]> {
      const cached = known.get(agent);
      const isFresh = cached && monotonicMs() - cached.requestedAtMs <= freshnessMs;
      const pinned = isFresh ? cached : await load(agent);
      pinned.lastUsedMs = monotonicMs();
      return pinned.keys;
    },

    /** Its next call reads it again. */
    forget(agent: string): void {
      known.delete(agent);
      underWay.delete(agent);
    },

    /** Reads identities past half their freshness again; drops those not used for ten times that long. */
    async refresh(): Promise<void> {
      const nowMs = monotonicMs();
      for (const [agent, { lastUsedMs }] of known) if (nowMs - lastUsedMs > 10 * freshnessMs) known.delete(agent);
      const isDue = (agent: string) => nowMs - (known.peek(agent)?.requestedAtMs ?? nowMs) > freshnessMs / 2;
      // The least recently used first, so that reading again changes no order.
      const due = [...known.rkeys()].filter(isDue);
      const faults: unknown[] = [];
      for (let from = 0; from < due.length; from += concurrency) {
        const loads = await Promise.allSettled(due.slice(from, from + concurrency).map(load));
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
  const body = await get(`agents/${encodeURIComponent(agent)}`).catch(undefinedIfUnknown);
  if (body === undefined) return { keys: [], anchorVersion: 0, asOfMs: 0 };
  const read = identityShape.safeParse(body);
  if (!read.success || read.data.agent !== agent) throw new RefreshFault("malformed identity");
  const { status, revoked, jwks, anchor_version: anchorVersion, as_of } = read.data;
  const isEnrolled = status === "enrolled" && !revoked;
  const keys = isEnrolled ? [...(await importJwks(jwks)).values()] : [];
  return { keys, anchorVersion, asOfMs: Date.parse(as_of) };
}

/** An unknown name reads as not enrolled. */
function undefinedIfUnknown(error: unknown): undefined {
  if (!(error instanceof RefreshFault) || error.status !== 404) throw error;
}
