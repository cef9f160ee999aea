import { firstModernRevision, mcpMeta } from "@svc/core";
import { type RawHeaders, valuesInAnySpelling } from "../../message/headers.ts";
import type { Era } from "../protocol.ts";
import { type McpMessage, metaText } from "./message.ts";

/** The message decides, then the header (MCP 2026-07-28: Versioning). */
export function eraOf(message: McpMessage, headers: RawHeaders): Era {
  const revision = metaText(message, mcpMeta.revision);
  if (revision !== undefined) return isModern(revision) ? "modern" : "legacy";
  return valuesInAnySpelling(headers, "mcp-protocol-version").some(isModern) ? "modern" : "legacy";
}

/** Revisions are dates; a name that is none belongs to a draft of a later one. */
const isModern = (revision: string): boolean =>
  !/^\d{4}-\d{2}-\d{2}$/.test(revision) || revision >= firstModernRevision;
