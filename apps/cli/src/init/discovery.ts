import type { Offer } from "./offer.ts";

/** How discovery reads a manifest's tools, and what a person has to attest. */
export interface DiscoveryPlan {
  /** Entries of the manifest. */
  readonly entries: readonly object[];
  /** Why there are fewer than sources, for the manifest. */
  readonly comments: readonly string[];
  /** Names of the sources that discovery cannot confirm. */
  readonly unread: readonly string[];
}

/** Where an API may serve the list of its tools, for discovery. */
const documentUrl = (base: string): string => new URL("/.well-known/svc-tools.json", base).href;

/**
 * MCP servers over HTTP are read. An API may list its tools in a document; until it does, a person attests them. The control
 * plane cannot read a server over stdio, and once any source answers a tool that none could list is rejected
 * (docs/reference/manifest.md#reconciliation).
 */
export function planDiscovery(offers: readonly Offer[]): DiscoveryPlan {
  const servers = offers.filter(({ endpoint }) => endpoint.protocol === "mcp" && "url" in endpoint);
  const apis = offers.filter(({ endpoint }) => endpoint.protocol === "http");
  const overStdio = offers.filter(({ endpoint }) => "command" in endpoint);
  const unread = [...apis, ...overStdio].map(({ name }) => name);
  if (apis.length === 0 && servers.length > 0 && overStdio.length > 0) {
    const left = servers.flatMap(({ name, endpoint }) =>
      "url" in endpoint ? [`  - { kind: mcp, name: ${name}, url: "${endpoint.url}" }`] : [],
    );
    const why = `No discovery: ${namesOf(overStdio)} runs over stdio, and beside a source that answers its tools would be rejected.`;
    return { entries: [], comments: [why, "discovery:", ...left], unread: offers.map(({ name }) => name) };
  }
  const entries = [
    ...servers.map(({ name, endpoint }) => ({ kind: "mcp", name, url: urlOf(endpoint) })),
    ...apis.map(({ name, endpoint }) => ({ kind: "http", name, url: documentUrl(urlOf(endpoint)) })),
  ];
  return {
    entries,
    comments:
      apis.length === 0
        ? []
        : ["An HTTP API may list its tools at its address here. Until it does, a person attests them."],
    unread,
  };
}

const urlOf = (endpoint: Offer["endpoint"]): string => ("url" in endpoint ? endpoint.url : "");
const namesOf = (offers: readonly Offer[]): string => offers.map(({ name }) => name).join(", ");

/** What an API would serve for discovery. */
export const discoveryDocument = ({ tools }: Offer): string =>
  `${JSON.stringify(
    {
      tools: tools.map(({ ref, dataClass, privileged, access }) => ({
        ref,
        data_classes: [dataClass],
        ...(privileged && { privileged }),
        access,
      })),
    },
    null,
    2,
  )}\n`;
