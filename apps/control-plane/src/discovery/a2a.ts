import type { Discovered, DiscoverySource } from "@svc/core";
import { z } from "zod";
import { DiscoveryFault, refusalOf } from "./fault.ts";

/** The SDK translates a card without checks. */
const agentCard = z.object({ skills: z.array(z.object({ id: z.string() })) });

/**
 * Reads `<url>/.well-known/agent-card.json` with the official SDK, which also reads cards of protocol version 0.3. Each
 * skill is a tool `a2a:<agent>/<skill>` (docs/reference/manifest.md#discovery-sources).
 */
export async function discoverA2a(
  source: Extract<DiscoverySource, { kind: "a2a" }>,
  fetch: typeof globalThis.fetch,
): Promise<Discovered> {
  const card = agentCard.parse(await resolveCard(source.url, fetch));
  return { ok: true, tools: card.skills.map(({ id }) => ({ ref: `a2a:${source.name}/${id}` })) };
}

async function resolveCard(url: string, fetch: typeof globalThis.fetch): Promise<unknown> {
  // Loaded on demand: most deployments have no A2A agent.
  const { DefaultAgentCardResolver } = await import("@a2a-js/sdk/client");
  const fetchImpl: typeof globalThis.fetch = async (address, init) => {
    const response = await fetch(address, init);
    if (!response.ok) throw new DiscoveryFault(refusalOf(response.status));
    return response;
  };
  return new DefaultAgentCardResolver({ fetchImpl, legacyCompat: { enabled: true } }).resolve(folderOf(url));
}

/** The SDK resolves the card's path against the folder. */
function folderOf(url: string): string {
  const base = new URL(url);
  base.pathname = base.pathname.replace(/\/?$/, "/");
  base.search = "";
  return base.href;
}
