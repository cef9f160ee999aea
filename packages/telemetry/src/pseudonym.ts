import { createHmac } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { PseudonymKind } from "./contract.ts";
import type { IdentityFacts } from "./contract-types.ts";
import type { Disclosed, Pseudonym } from "./value-kind.ts";

/**
 * The first 32 hex characters of HMAC-SHA256 over `<len(kind)>:<kind>:<value>`, keyed with the UTF-8 text of the
 * telemetry key (docs/reference/telemetry.md#pseudonyms). The length keeps two kinds from ever meeting in one text.
 */
export const pseudonym = (key: string, kind: PseudonymKind, value: string): Pseudonym =>
  createHmac("sha256", key).update(`${kind.length}:${kind}:${value}`).digest("hex").slice(0, 32) as Pseudonym;

export interface Identities {
  /** The acting agent's name. */
  readonly agent?: string | null | undefined;
  /** The token's chain, the human first. */
  readonly actChain?: readonly string[] | null | undefined;
  readonly taintSource?: string | null | undefined;
}

const maxCachedLength = 1024;

/** The same few agents act over and over: their pseudonyms are computed once. Bounded in number and in length. */
function cached(compute: (kind: PseudonymKind, value: string) => Pseudonym): typeof compute {
  const known = new LRUCache<string, Pseudonym>({ max: 4096 });
  return (kind, value) => {
    const id = `${kind}:${value}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const made = compute(kind, value);
    if (id.length <= maxCachedLength) known.set(id, made);
    return made;
  };
}

/** Identities as span attributes: pseudonyms, or where disclosed names (docs/reference/telemetry.md#rules). */
export function createIdentities(key: string, disclose: boolean): (who: Identities) => IdentityFacts {
  const refOf = cached((kind, value) => pseudonym(key, kind, value));
  const ref = (kind: PseudonymKind, value: string | null | undefined) =>
    value == null ? undefined : refOf(kind, value);
  const plain = (value: string | null | undefined) => (value == null ? undefined : (value as Disclosed));
  const chainText = (chain: readonly string[] | null | undefined) =>
    chain == null ? undefined : JSON.stringify(chain);

  return disclose
    ? ({ agent, actChain, taintSource }) => ({
        "authz.agent": plain(agent),
        "authz.act_chain": plain(chainText(actChain)),
        "authz.taint_source": plain(taintSource),
      })
    : ({ agent, actChain, taintSource }) => ({
        "authz.agent_ref": ref("agent", agent),
        "authz.act_chain_ref": ref("act_chain", chainText(actChain)),
        "authz.taint_source_ref": ref("taint_source", taintSource),
      });
}
