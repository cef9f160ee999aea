import { toolRef } from "@svc/core";
import type { AskedServer, Hints, ListedTool } from "./ask-mcp.ts";
import { fact, guess, type Note, type Offer, type OfferedTool, reads, writes } from "./offer.ts";
import type { Source } from "./source.ts";
import { judgeResults } from "./taint.ts";

type McpSource = Extract<Source, { kind: "mcp" | "stdio" }>;

/** The tools of an MCP server, by the hints of their annotations (docs/reference/manifest.md#discovery-sources). */
export function mcpOffer(source: McpSource, { tools, methods, version }: AskedServer, isTrusted: boolean): Offer {
  const { name } = source;
  const named = uniqueByName(tools);
  // The upstreams file takes a name that begins with # for a method.
  const declarable = named.filter(
    ({ name: tool }) => toolRef.safeParse(`mcp:${name}/${tool}`).success && !tool.startsWith("#"),
  );
  const leftOut = named.filter((tool) => !declarable.includes(tool));
  return {
    name,
    read: `${tools.length === 1 ? "1 tool" : `${tools.length} tools`} of MCP ${version}`,
    endpoint: {
      protocol: "mcp",
      ...(source.kind === "mcp" ? { url: source.url } : { command: source.command, env: source.env }),
    },
    tools: [
      ...declarable.map((tool) => offeredTool(name, tool, isTrusted)),
      ...methods.map((method) => offeredMethod(name, method, isTrusted)),
    ],
    leftOut: leftOut.map((tool) => ({
      name: tool.name,
      why: "no manifest can declare this name, so every call of it is denied: rename it at its server",
    })),
  };
}

const uniqueByName = (tools: readonly ListedTool[]): readonly ListedTool[] =>
  [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse();

function offeredTool(server: string, { name, hints }: ListedTool, isTrusted: boolean): OfferedTool {
  const effects = judgeEffects(hints);
  const results = judgeResults(name, hints.openWorld, isTrusted);
  const { access, privileged } = effects;
  const dataClass = access === "read" ? reads(server) : writes(server);
  return {
    ...{ ref: `mcp:${server}/${name}`, dataClass, access, privileged },
    resultTaint: results.resultTaint,
    notes: [...effects.notes, ...results.notes],
  };
}

interface Effects extends Pick<OfferedTool, "access" | "privileged"> {
  readonly notes: readonly Note[];
}

/** What is absent counts as MCP's schema says: not read-only, and destructive. */
function judgeEffects({ readOnly, destructive }: Hints): Effects {
  const access = readOnly === true ? "read" : "write";
  if (destructive === true) {
    return { access, privileged: true, notes: [fact("privileged: destructiveHint is true")] };
  }
  if (access === "read") return { access, privileged: false, notes: [] };
  const isWrite = readOnly === undefined ? [guess("a write: readOnlyHint is absent")] : [];
  if (destructive === false) return { access, privileged: false, notes: isWrite };
  return { access, privileged: true, notes: [...isWrite, guess("privileged: destructiveHint is absent")] };
}

/** `logging/setLevel` alone changes something; the others read. */
function offeredMethod(server: string, method: string, isTrusted: boolean): OfferedTool {
  const ref = `mcp:${server}#${method}`;
  if (method === "logging/setLevel") {
    const trusted = { resultTaint: "trusted_internal", notes: [] } as const;
    return { ref, dataClass: writes(server), access: "write", privileged: false, ...trusted };
  }
  return {
    ref,
    dataClass: reads(server),
    access: "read",
    privileged: false,
    ...judgeResults("", undefined, isTrusted),
  };
}
