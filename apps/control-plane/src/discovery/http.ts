import { accessKinds, agentName, type Discovered, type DiscoverySource, dataClass, toolRef } from "@svc/core";
import { z } from "zod";
import { DiscoveryFault, faultBehind, refusalOf } from "./fault.ts";

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
  const response = await fetch(new URL(source.url), { headers: { accept: "application/json" } });
  if (!response.ok) throw new DiscoveryFault(refusalOf(response.status));
  const text = await response.text().catch((error: unknown) => {
    throw faultBehind(error) ?? new DiscoveryFault("unreachable", { cause: error });
  });
  const { tools, downstream_agents } = listing.parse(JSON.parse(text));
  return {
    ok: true,
    tools: tools.map(({ data_classes: dataClasses, ...tool }) => ({ ...tool, dataClasses })),
    downstreamAgents: downstream_agents,
  };
}
