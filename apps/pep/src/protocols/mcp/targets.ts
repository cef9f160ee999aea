import { type Classification, type CompiledRules, classify, compileRules } from "@svc/classify";
import { isSessionMessage, protocolDataClass, toolRef } from "@svc/core";
import type { CallTarget } from "../protocol.ts";
import type { ListMember } from "./lists.ts";
import { type McpMessage, textIn } from "./message.ts";

export interface McpSettings {
  /** The upstream's name: the server's in every target. */
  readonly name: string;
  /** For every tool that `tools` does not name. */
  readonly data_class?: string | undefined;
  /** Tool name, or `#method`, to its data class, or to the rules that give it. */
  readonly tools: Readonly<Record<string, string | Classification>>;
}

/** Why a message names no call (docs/reference/blocks.md#blocked-calls). */
export type Unclassified = "no_data_class" | "no_rule_holds";

export type McpTargets = ReturnType<typeof createTargets>;

type DataClass = string | CompiledRules;

/** One MCP server for the decision point (docs/reference/enforcement-point.md#mcp-messages). */
export function createTargets({ name: server, data_class: defaultClass, tools }: McpSettings) {
  const classes = new Map(Object.entries(tools).map(([name, given]) => [name, compiled(given)]));
  const tool = (target: string, dataClass: string): CallTarget => ({ target, targetKind: "tool", dataClass });
  const legalTool = (target: string, dataClass: DataClass | undefined) =>
    dataClass !== undefined && toolRef.safeParse(target).success ? { target, dataClass } : undefined;
  // `#name` is how the file spells a method, so a tool of that name has no entry of its own.
  const ofTool = (name: string) =>
    legalTool(`mcp:${server}/${name}`, (name.startsWith("#") ? undefined : classes.get(name)) ?? defaultClass);
  const ofMethod = (method: string) => legalTool(`mcp:${server}#${method}`, classes.get(`#${method}`));
  const ofSession = tool(`mcp:${server}`, protocolDataClass);
  const named = [...classes].flatMap(([name, dataClass]) =>
    classesOf(dataClass).map((each) => tool(`mcp:${server}${name.startsWith("#") ? "" : "/"}${name}`, each)),
  );
  return {
    /** The implicit tool for the methods that every session needs (docs/reference/manifest.md#mcp-servers). */
    ofSession,
    /** The targets that the settings name; where they name none, any tool of the server. */
    named: defaultClass === undefined ? named : [...named, tool(`mcp:${server}`, defaultClass)],
    /** `no_data_class` also where its name is not a legal one. */
    ofMessage(message: McpMessage): CallTarget | Unclassified {
      const { method } = message;
      if (method === undefined || isSessionMessage(message)) return ofSession;
      const name = textIn(message, "name");
      const found = method === "tools/call" ? name !== undefined && ofTool(name) : ofMethod(method);
      if (!found) return "no_data_class";
      const { target, dataClass: given } = found;
      const dataClass = typeof given === "string" ? given : classify(given, { json: argumentsOf(message) });
      return dataClass === undefined ? "no_rule_holds" : tool(target, dataClass);
    },
    /** The call of a listed element, by the same rule, with every class that it can get. A resource's URI is its call. */
    ofListed(list: ListMember, name: string) {
      const found = list === "tools" ? ofTool(name) : ofMethod(list === "prompts" ? "prompts/get" : "resources/read");
      if (!found) return undefined;
      const { target, dataClass: given } = found;
      if (list !== "resources" || typeof given === "string") return { target, dataClasses: classesOf(given) };
      const dataClass = classify(given, { json: { uri: name } });
      return { target, dataClasses: dataClass === undefined ? [] : [dataClass] };
    },
  };
}

const compiled = (given: string | Classification): DataClass =>
  typeof given === "string" ? given : compileRules(given.classify, given.data_class);

const classesOf = (given: DataClass): readonly string[] => (typeof given === "string" ? [given] : given.classes);

/** What pointers lead into: a tool's arguments, none being an empty object; the params of any other method. */
function argumentsOf({ method, params, isExact }: McpMessage): unknown {
  if (!isExact) return undefined;
  if (method !== "tools/call") return params;
  return params.arguments === undefined ? {} : params.arguments;
}
