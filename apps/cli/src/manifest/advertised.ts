import type { AgentManifestDocument } from "@svc/core";
import { discoveryCredentials } from "../init/credentials.ts";

type Source = Extract<NonNullable<AgentManifestDocument["discovery"]>, readonly unknown[]>[number];

const timeoutMs = 5_000;

/** The refs that a manifest's sources advertise, as far as they can be read from here. Never throws. */
export async function advertisedRefs({ discovery = [] }: AgentManifestDocument): Promise<readonly string[]> {
  const reading = [discovery].flat().map((source) => refsOf(source).catch(() => []));
  return (await Promise.all(reading)).flat();
}

async function refsOf(source: Source): Promise<readonly string[]> {
  switch (source.kind) {
    case "mcp": {
      const { askMcp } = await import("../init/ask-mcp.ts");
      const { name } = source;
      const { tools, methods } = await askMcp(source, discoveryCredentials());
      return [...tools.map((tool) => `mcp:${name}/${tool.name}`), ...methods.map((method) => `mcp:${name}#${method}`)];
    }
    case "http": {
      const authorization = discoveryCredentials().get(new URL(source.url).origin);
      const headers = { accept: "application/json", ...(authorization !== undefined && { authorization }) };
      const response = await fetch(source.url, { headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
      const { tools } = (await response.json()) as { readonly tools: readonly { readonly ref: string }[] };
      return tools.map(({ ref }) => String(ref));
    }
    case "a2a":
      return [];
    default:
      return source satisfies never;
  }
}
