import { isSessionMessage, protocolDataClass, toolRef } from "@svc/core";
import type { CallTarget } from "../protocol.ts";
import type { ListMember } from "./lists.ts";
import { type McpMessage, textIn } from "./message.ts";

export interface McpSettings {
  /** The upstream's name: the server's in every target. */
  readonly name: string;
  /** For every tool that `tools` does not name. */
  readonly data_class?: string | undefined;
  /** Tool name, or `#method`, to its data class. */
  readonly tools: Readonly<Record<string, string>>;
}

export type McpTargets = ReturnType<typeof createTargets>;

/** One MCP server for the decision point (docs/reference/enforcement-point.md#mcp-messages). */
export function createTargets({ name: server, data_class: defaultClass, tools }: McpSettings) {
  const classes = new Map(Object.entries(tools));
  const tool = (target: string, dataClass: string): CallTarget => ({ target, targetKind: "tool", dataClass });
  const legalTool = (target: string, dataClass: string | undefined): CallTarget | undefined =>
    dataClass !== undefined && toolRef.safeParse(target).success ? tool(target, dataClass) : undefined;
  // `#name` is how the file spells a method, so a tool of that name has no entry of its own.
  const ofTool = (name: string): CallTarget | undefined =>
    legalTool(`mcp:${server}/${name}`, (name.startsWith("#") ? undefined : classes.get(name)) ?? defaultClass);
  const ofMethod = (method: string): CallTarget | undefined =>
    legalTool(`mcp:${server}#${method}`, classes.get(`#${method}`));
  const ofSession = tool(`mcp:${server}`, protocolDataClass);
  const named = [...classes].map(([name, dataClass]) =>
    tool(name.startsWith("#") ? `mcp:${server}${name}` : `mcp:${server}/${name}`, dataClass),
  );
  return {
    /** The implicit tool for the methods that every session needs (docs/reference/manifest.md#mcp-servers). */
    ofSession,
    /** The targets that the settings name; where they name none, any tool of the server. */
    named: defaultClass === undefined ? named : [...named, tool(`mcp:${server}`, defaultClass)],
    /** Undefined: the settings give the message no data class, or its name is not a legal one. */
    ofMessage(message: McpMessage): CallTarget | undefined {
      const { method } = message;
      if (method === undefined || isSessionMessage(message)) return ofSession;
      if (method !== "tools/call") return ofMethod(method);
      const name = textIn(message, "name");
      return name === undefined ? undefined : ofTool(name);
    },
    /** The call of a listed element, by the same rule. */
    ofListed(list: ListMember, name: string): CallTarget | undefined {
      if (list === "tools") return ofTool(name);
      return ofMethod(list === "prompts" ? "prompts/get" : "resources/read");
    },
  };
}
