import { accessKinds, agentName, type Discovered, type DiscoverySource, dataClass, toolRef } from "@svc/core";
import { z } from "zod";
import { fetchJson } from "./json-source.ts";

/** Other members are ignored. */
const listing = z.object({
  tools: z.array(
    z.object({
      ref: toolRef,
      data_classes: z.array(dataClass).optional(),
      privileged: z.boolean().optional(),
      access: z.enum(accessKinds).optional(),
    }),
  ),
  downstream_agents: z.array(agentName).optional(),
});

/** Reads `<url>` as a list of tools and downstream agents (docs/reference/manifest.md#discovery-sources). */
export async function discoverHttp(source: DiscoverySource, fetch: typeof globalThis.fetch): Promise<Discovered> {
  const { tools, downstream_agents } = await fetchJson(fetch, new URL(source.url), listing);
  return {
    ok: true,
    tools: tools.map(({ ref, data_classes, privileged, access }) => ({
      ref,
      dataClasses: data_classes,
      privileged,
      access,
    })),
    downstreamAgents: downstream_agents,
  };
}
