import { lookup } from "node:dns/promises";
import type { Discovered, DiscoveryCredentials, DiscoverySource, SourceAnswer } from "@svc/core";
import type { Discover } from "../ports/manifests.ts";
import { discoverA2a } from "./a2a.ts";
import type { AllowedDestination } from "./allow-list.ts";
import { faultBehind, remedyFor } from "./fault.ts";
import type { GuardSettings, ResolveHost } from "./guarded-fetch.ts";
import { discoverHttp } from "./http.ts";
import type { ReadProgress } from "./mcp.ts";

export interface DiscoverySettings {
  readonly allowed: readonly AllowedDestination[];
  /** Values of `Authorization`, by origin. */
  readonly credentials?: ReadonlyMap<string, string> | undefined;
  readonly resolveHost?: ResolveHost;
  /** For all sources of a manifest together. */
  readonly timeoutMs?: number;
}

/** Reads all sources at once. A source that fails gets a remedy. */
export function createDiscover({
  allowed,
  credentials = new Map(),
  resolveHost = (host) => lookup(host, { all: true }),
  timeoutMs = 5_000,
}: DiscoverySettings): Discover {
  return async (sources) => {
    const guard = { allowed, credentials, resolveHost, signal: AbortSignal.timeout(timeoutMs) };
    return Promise.all(sources.map((source) => readSource(source, guard)));
  };
}

async function readSource(source: DiscoverySource, guard: GuardSettings): Promise<SourceAnswer> {
  // Loaded with the first manifest, not at the start.
  const { guardedFetch } = await import("./guarded-fetch.ts");
  const { fetch, failed, close } = guardedFetch(guard);
  const { origin, host } = new URL(source.url);
  const progress: ReadProgress = { tools: [] };
  const answer = (discovered: Discovered, credentials: DiscoveryCredentials): SourceAnswer => {
    const { protocolVersion, pages } = progress;
    return { source, origin, discovered, facts: { protocolVersion, pages, credentials } };
  };
  const sent = guard.credentials.has(origin) ? "sent" : "none";
  try {
    return answer(await Promise.race([read(source, fetch, progress), failed]), sent);
  } catch (error) {
    const kind = faultBehind(error)?.kind ?? "unreadable";
    const discovered = { ok: false, remedy: remedyFor(host, kind), tools: progress.tools } as const;
    return answer(discovered, kind === "credentials" ? "required" : sent);
  } finally {
    await close();
  }
}

async function read(
  source: DiscoverySource,
  fetch: typeof globalThis.fetch,
  progress: ReadProgress,
): Promise<Discovered> {
  switch (source.kind) {
    case "mcp": {
      const { discoverMcp } = await import("./mcp.ts");
      return discoverMcp(source, fetch, progress);
    }
    case "a2a":
      return discoverA2a(source, fetch);
    case "http":
      return discoverHttp(source, fetch);
    default:
      return source satisfies never;
  }
}
