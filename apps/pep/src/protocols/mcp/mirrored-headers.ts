import { mcpMeta } from "@svc/core";
import { foldedName } from "../../message/header-names.ts";
import { pairs, type RawHeaders, valuesInAnySpelling } from "../../message/headers.ts";
import { type McpMessage, metaText, textIn } from "./message.ts";

/** The member that `Mcp-Name` repeats (MCP 2026-07-28: Standard Request Headers; its extension for tasks). */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** Whether the headers that repeat parts of the message agree with it, in every spelling that a server may read. */
export function isMirrored(message: McpMessage, headers: RawHeaders): boolean {
  const all = (header: string, agrees: (value: string) => boolean) =>
    valuesInAnySpelling(headers, header).every(agrees);
  const revision = metaText(message, mcpMeta.revision);
  const names = namesOf(message);
  return (
    all("mcp-protocol-version", (value) => revision === undefined || value === revision) &&
    all("mcp-method", (value) => value === message.method) &&
    all("mcp-name", (value) => names.includes(decoded(value))) &&
    paramHeaders(headers).every((value) => isArgument(message.params.arguments, decoded(value)))
  );
}

/** Of a method that no table names, any of its names may be repeated. */
function namesOf(message: McpMessage): (string | undefined)[] {
  const member = nameMembers.get(message.method ?? "");
  return (member ? [member] : ["name", "uri", "taskId"])
    .map((name) => textIn(message, name))
    .filter((name) => name !== undefined);
}

const encodedValue = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Undefined for an encoding that readers could decode differently. */
function decoded(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const [, base64 = ""] = encodedValue.exec(value) ?? [];
  const bytes = Buffer.from(base64, "base64");
  if (base64 === "" || bytes.toString("base64") !== base64) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The schema of the tool says which argument a header repeats; without it, one of them must have this value. */
const paramHeaders = (headers: RawHeaders): string[] =>
  pairs(headers).flatMap(([name, value]) => (foldedName(name).startsWith("mcpparam") ? [value] : []));

function isArgument(value: unknown, text: string | undefined): boolean {
  if (text === undefined || value === undefined || value === null) return false;
  if (typeof value === "object") return Object.values(value).some((part) => isArgument(part, text));
  return typeof value === "number" ? isDecimal(text) && Number(text) === value : String(value) === text;
}

const isDecimal = (text: string): boolean => /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
