import { definitionMembers, definitionPartLength, type ToolDefinition } from "@svc/core";
import canonicalize from "canonicalize";
import { sha256Base64url } from "./encoding.ts";

/**
 * The definition of an MCP tool as its server lists it, without what says nothing of its use, such as icons and `_meta`.
 * Undefined where it has no canonical form (RFC 8785): a text with a lone surrogate.
 */
export function toolDefinition(listed: Readonly<Record<string, unknown>>): ToolDefinition | undefined {
  try {
    const named = ["name", ...definitionMembers].filter((member) => listed[member] !== undefined);
    const text = canonicalOf(Object.fromEntries(named.map((member) => [member, listed[member]])));
    const parts = definitionMembers.map((member) =>
      sha256Base64url(canonicalOf(listed[member])).slice(0, definitionPartLength),
    );
    return { text, hash: sha256Base64url(text), parts: parts.join("") };
  } catch {
    return undefined;
  }
}

/** Empty for an absent member. */
const canonicalOf = (value: unknown): string => canonicalize(value) ?? "";
