import { type Discovered, type DiscoverySource, toolRef } from "@svc/core";
import { z } from "zod";
import { fetchJson } from "./json-source.ts";

/** What is read of an A2A agent card. */
const agentCard = z.object({ skills: z.array(z.object({ id: z.string() })) });

/** Reads `<url>/.well-known/agent-card.json`: each skill is a tool `a2a:<agent>/<skill>` (contract: Discovery kinds). */
export async function discoverA2a(
  source: Extract<DiscoverySource, { kind: "a2a" }>,
  fetch: typeof globalThis.fetch,
): Promise<Discovered> {
  const { skills } = await fetchJson(fetch, cardUrl(source.url), agentCard);
  const refs = skills.map(({ id }) => `a2a:${source.name}/${id}`);
  // What the alphabet of references cannot spell, no manifest can declare.
  return { ok: true, tools: refs.filter((ref) => toolRef.safeParse(ref).success).map((ref) => ({ ref })) };
}

function cardUrl(base: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/.well-known/agent-card.json`;
  return url;
}
