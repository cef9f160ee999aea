import { protocolDataClass, toolRef } from "@svc/core";
import type { CallTarget } from "../protocol.ts";
import type { McpMessage } from "./message.ts";

export interface McpSettings {
  /** The upstream's name: the server's in every target. */
  readonly name: string;
  /** For every tool that `tools` does not name. */
  readonly data_class?: string | undefined;
  /** Tool name, or `#method`, to its data class. */
  readonly tools: Readonly<Record<string, string>>;
}

/**
 * Messages and tools of one MCP server as the decision point knows them
 * (docs/reference/enforcement-point.md#mcp-messages).
 */
export interface McpTargets {
  /** The implicit tool for the methods that every session needs (docs/reference/manifest.md#mcp-servers). */
  readonly ofSession: CallTarget;
  /** The targets that the settings name; where they name none, any tool of the server. */
  readonly named: readonly CallTarget[];
  /** Undefined: the settings give the message no data class, or its name is not a legal one. */
  ofMessage(message: McpMessage): CallTarget | undefined;
  /** The target of a tool, by the same rule. */
  ofTool(name: string): CallTarget | undefined;
}

const sessionMethods = new Set(["initialize", "ping", "tools/list"]);

export function createTargets({ name: server, data_class: defaultClass, tools }: McpSettings): McpTargets {
  const classes = new Map(Object.entries(tools));
  const tool = (target: string, dataClass: string): CallTarget => ({ target, targetKind: "tool", dataClass });
  const legalTool = (target: string, dataClass: string | undefined): CallTarget | undefined =>
    dataClass !== undefined && toolRef.safeParse(target).success ? tool(target, dataClass) : undefined;
  // `#name` is how the file spells a method, so a tool of that name has no entry of its own.
  const ofTool = (name: string) =>
    legalTool(`mcp:${server}/${name}`, (name.startsWith("#") ? undefined : classes.get(name)) ?? defaultClass);
  const ofSession = tool(`mcp:${server}`, protocolDataClass);
  const named = [...classes].map(([name, dataClass]) =>
    tool(name.startsWith("#") ? `mcp:${server}${name}` : `mcp:${server}/${name}`, dataClass),
  );
  return {
    ofSession,
    named: defaultClass === undefined ? named : [...named, tool(`mcp:${server}`, defaultClass)],
    ofMessage({ id, method, name }) {
      const isNotification = id === undefined && method?.startsWith("notifications/");
      if (method === undefined || isNotification || sessionMethods.has(method)) return ofSession;
      if (method === "tools/call") return name === undefined ? undefined : ofTool(name);
      return legalTool(`mcp:${server}#${method}`, classes.get(`#${method}`));
    },
    ofTool,
  };
}
