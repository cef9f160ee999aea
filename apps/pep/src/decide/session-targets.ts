import type { Definitions } from "@svc/core";
import type { HopCredential } from "@svc/hop";
import type { SessionTargets } from "../protocols/protocol.ts";

/** A pinned definition never changes, but a target that was denied for a while may be missing. */
const maxAgeMs = 60_000;
const maxCallers = 256;

/** Remembers the definitions that each caller's session pinned. */
export function createSessionTargets(
  fetch: (credential: HopCredential) => Promise<SessionTargets | undefined>,
  monotonicMs: () => number,
) {
  const remembered = new Map<string, { readonly atMs: number; readonly pins: Promise<Definitions | undefined> }>();

  async function read(credential: HopCredential): Promise<SessionTargets | undefined> {
    const reading = fetch(credential);
    const pins = reading.then((targets) => targets?.pins);
    remembered.delete(credential.token);
    remembered.set(credential.token, { atMs: monotonicMs(), pins });
    for (const token of remembered.keys()) {
      if (remembered.size <= maxCallers) break;
      remembered.delete(token);
    }
    const targets = await reading;
    // What is not known is asked for again.
    if (targets === undefined && remembered.get(credential.token)?.pins === pins) remembered.delete(credential.token);
    return targets;
  }

  return {
    read,
    /** Undefined: the control plane gave no usable answer. */
    async pinsOf(credential: HopCredential): Promise<Definitions | undefined> {
      const known = remembered.get(credential.token);
      if (known && monotonicMs() - known.atMs < maxAgeMs) return known.pins;
      return (await read(credential))?.pins;
    },
  };
}

export type SessionTargetStore = ReturnType<typeof createSessionTargets>;
