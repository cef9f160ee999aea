import type { Definitions } from "@svc/core";
import type { HopCredential } from "@svc/hop";
import type { SessionTargets } from "../protocols/protocol.ts";

/** A pinned definition never changes, but a target that was denied for a while may be missing. */
const maxAgeMs = 60_000;
const maxCallers = 256;

interface Remembered {
  readonly atMs: number;
  readonly reading: Promise<SessionTargets | undefined>;
  /** Once it is read. */
  targets?: SessionTargets | undefined;
}

/** Remembers what each caller may call, and the definitions that its session pinned. */
export function createSessionTargets(
  fetch: (credential: HopCredential) => Promise<SessionTargets | undefined>,
  monotonicMs: () => number,
) {
  const remembered = new Map<string, Remembered>();

  async function read(credential: HopCredential): Promise<SessionTargets | undefined> {
    const { token } = credential;
    const entry: Remembered = { atMs: monotonicMs(), reading: fetch(credential) };
    remembered.delete(token);
    remembered.set(token, entry);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= maxCallers) break;
      remembered.delete(oldest);
    }
    entry.targets = await entry.reading;
    // What is not known is asked for again.
    if (entry.targets === undefined && remembered.get(token) === entry) remembered.delete(token);
    return entry.targets;
  }

  function freshOf({ token }: HopCredential): Remembered | undefined {
    const known = remembered.get(token);
    return known && monotonicMs() - known.atMs < maxAgeMs ? known : undefined;
  }

  return {
    read,
    /** What was read lately, without a request. */
    knownOf: (credential: HopCredential): SessionTargets | undefined => freshOf(credential)?.targets,
    /** Undefined: the control plane gave no usable answer. */
    async pinsOf(credential: HopCredential): Promise<Definitions | undefined> {
      return (await (freshOf(credential)?.reading ?? read(credential)))?.pins;
    },
  };
}

export type SessionTargetStore = ReturnType<typeof createSessionTargets>;
