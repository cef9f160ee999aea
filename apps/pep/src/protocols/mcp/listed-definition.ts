import type { ToolDefinition } from "@svc/core";
import { parseStrictJson, toolDefinition } from "@svc/tokens";
import { maxMessageDepth } from "./message.ts";

/** The definition in an element of a list; undefined where two readers could read two, or none. */
export function definitionIn(element: Uint8Array): ToolDefinition | undefined {
  const parsed = parseStrictJson(element, { maxDepth: maxMessageDepth });
  return parsed.ok && parsed.duplicateDepth === null
    ? toolDefinition(parsed.value as Readonly<Record<string, unknown>>)
    : undefined;
}
