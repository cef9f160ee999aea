import { lookup } from "node:dns/promises";
import type { Discovered, DiscoveredTool, DiscoverySource } from "@svc/core";
import type { Discover } from "../ports/manifests.ts";
import { discoverA2a } from "./a2a.ts";
import type { AllowedDestination } from "./allow-list.ts";
import { faultBehind, remedyFor } from "./fault.ts";
import type { GuardSettings, ResolveHost } from "./guarded-fetch.ts";
import { discoverHttp } from "./http.ts";

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
    return Promise.all(
      sources.map(async (source) => ({
        source,
        origin: new URL(source.url).origin,
        discovered: await readSource(source, guard),
      })),
    );
  };
}

async function readSource(source: DiscoverySource, guard: GuardSettings): Promise<Discovered> {
  // Loaded with the first manifest, not at the start.
  const { guardedFetch } = await import("./guarded-fetch.ts");
  const { fetch, failed, close } = guardedFetch(guard);
  const tools: DiscoveredTool[] = [];
  try {
    return await Promise.race([read(source, fetch, tools), failed]);
  } catch (error) {
    const kind = faultBehind(error)?.kind ?? "unreadable";
    return { ok: false, remedy: remedyFor(new URL(source.url).host, kind), tools };
  } finally {
    await close();
  }
}

/** @param tools collects what is read of a source with several pages, also if it fails later */
async function read(
  source: DiscoverySource,
  fetch: typeof globalThis.fetch,
  tools: DiscoveredTool[],
): Promise<Discovered> {
  switch (source.kind) {
    case "mcp": {
      const { discoverMcp } = await import("./mcp.ts");
      return discoverMcp(source, fetch, tools);
    }
    case "a2a":
      return discoverA2a(source, fetch);
    case "http":
      return discoverHttp(source, fetch);
    default:
      return source satisfies never;
  }
}
