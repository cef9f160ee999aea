import { Document, isCollection } from "yaml";
import type { Offer, OfferedTool } from "./offer.ts";
import { commentAbove, flowEach, schemaLine } from "./yaml-comments.ts";

/** The enforcement point's file with an upstream for each source. */
export function upstreamsYaml(offers: readonly Offer[], schema: string): string {
  const hosts = hostsOf(offers);
  const document = new Document(
    { upstreams: offers.map((offer) => entryOf(offer, hosts)) },
    { aliasDuplicateObjects: false },
  );
  document.commentBefore = `${schemaLine(schema)}\n Where the enforcement point finds each server. Which call needs what, the manifest says.`;
  offers.forEach((offer, index) => {
    const left = offer.leftOut.map(({ name, why }) => `not listed: ${name}: ${why}`);
    commentAbove(document.getIn(["upstreams", index], true), [...left, ...withoutHost(offer, hosts)]);
    flowEach(document, ["upstreams", index, "routes"]);
    for (const list of ["hosts", "command", "env"]) {
      const node = document.getIn(["upstreams", index, list], true);
      if (isCollection(node)) node.flow = true;
    }
  });
  return document.toString({ lineWidth: 0 });
}

function entryOf({ name, endpoint, tools }: Offer, hosts: ReadonlyMap<string, string>): object {
  const host = "url" in endpoint ? hostOf(endpoint.url) : undefined;
  const place = "url" in endpoint ? { url: endpoint.url } : startOf(endpoint);
  const known = host !== undefined && hosts.get(host) === name ? { hosts: [host] } : {};
  if (endpoint.protocol === "http") {
    const routes = endpoint.routes.map(({ methods, path, target, dataClass }) => ({
      ...{ methods, path, target },
      data_class: dataClass,
    }));
    return { name, ...place, ...known, routes };
  }
  return {
    ...{ name, protocol: "mcp", ...place, ...known },
    // The agent's model sees what it may call, and reads why a call was denied.
    ...{ filter_tool_lists: true, denials: "result" },
    tools: Object.fromEntries(tools.map((tool) => [memberOf(tool), tool.dataClass])),
  };
}

const startOf = ({ command, env }: Extract<Offer["endpoint"], { command: unknown }>) => ({
  command,
  ...(Object.keys(env).length > 0 && { env }),
});

/** `write_file`, or `#resources/read`. */
const memberOf = ({ ref }: OfferedTool): string => ref.replace(/^mcp:[^/#]+\/?/, "");

const hostOf = (url: string): string => new URL(url).host;

/** A host names one upstream: the first. */
function hostsOf(offers: readonly Offer[]): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>();
  for (const { name, endpoint } of offers) {
    if ("url" in endpoint && !hosts.has(hostOf(endpoint.url))) hosts.set(hostOf(endpoint.url), name);
  }
  return hosts;
}

function withoutHost({ name, endpoint }: Offer, hosts: ReadonlyMap<string, string>): readonly string[] {
  if (!("url" in endpoint)) return [`Its clients reach it at the enforcement point's /${name}, by Streamable HTTP.`];
  const owner = hosts.get(hostOf(endpoint.url));
  return owner === name ? [] : [`${owner} has its host: call it at the enforcement point's /${name}.`];
}
