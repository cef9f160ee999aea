import { within } from "@svc/host";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";

/** Readiness of one dependency. */
export interface Probe {
  readonly name: "database" | "cache_store" | "restore" | "draining";
  /** Rejects, or takes too long, when it cannot serve. */
  check(): Promise<void>;
}

export type ProbeName = Probe["name"];

export interface ProbeDeps {
  readonly probeDatabase: () => Promise<void>;
  readonly guard: Pick<ReplayGuard, "ping" | "evictionPolicy">;
  readonly restoreWatch: Pick<RestoreWatch, "look">;
  readonly isDraining: () => boolean;
  readonly onEvictionUnknown: () => void;
}

export const readinessProbes = ({ probeDatabase, restoreWatch, isDraining, ...store }: ProbeDeps): readonly Probe[] => [
  { name: "database", check: probeDatabase },
  {
    name: "cache_store",
    check: async () => {
      await probeGuard(store);
      if ((await restoreWatch.look()) === "unknown") throw new Error("the high water mark could not be compared yet");
    },
  },
  {
    name: "restore",
    check: async () => {
      if ((await restoreWatch.look()) === "behind") throw new Error("the database is older than one that was served");
    },
  },
  {
    name: "draining",
    check: async () => {
      if (isDraining()) throw new Error("this process is draining");
    },
  },
];

/** An evicting store could forget a spend, so it cannot serve (docs/reference/tokens.md#single-use). */
async function probeGuard({ guard, onEvictionUnknown }: Pick<ProbeDeps, "guard" | "onEvictionUnknown">): Promise<void> {
  await guard.ping();
  const policy = await guard.evictionPolicy();
  if (policy === "evicts") throw new Error("the cache store may evict live entries");
  if (policy === "unknown") onEvictionUnknown();
}

const deadlineMs = 1_000;

export async function failingProbes(probes: readonly Probe[]): Promise<readonly ProbeName[]> {
  const late = () => new Error(`no answer within ${deadlineMs} ms`);
  const results = await Promise.allSettled(probes.map(async (probe) => within(deadlineMs, probe.check(), late)));
  return probes.filter((_, index) => results[index]?.status === "rejected").map(({ name }) => name);
}
