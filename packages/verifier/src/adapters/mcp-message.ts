import { isSessionMessage, isToolRef, protocolDataClass } from "@svc/core";
import { parseStrictJson } from "@svc/tokens";
import { z } from "zod/mini";

/** The data classes of an MCP server's tools; `#resources/read` names a method that is no tool. */
export interface McpServer {
  /** The server's name in target references: `mcp:<server>/<tool>`. */
  readonly server: string;
  /** Of every tool that `tools` does not name. */
  readonly dataClass?: string;
  readonly tools?: Readonly<Record<string, string>>;
}

export interface McpCall {
  readonly audience: string;
  /** Undefined where none is configured; the call is not admitted then. */
  readonly dataClass: string | undefined;
  /** Of a request; undefined for a notification or a response. */
  readonly id: string | number | undefined;
}

const messageShape = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.optional(z.union([z.string(), z.number()])),
  method: z.optional(z.string()),
  params: z.optional(z.looseObject({ name: z.optional(z.unknown()) })),
});

/** Deeper than any message. */
const maxDepth = 512;

/** The JSON of a body given as text, bytes or a parsed value; undefined for what is no single JSON text. */
export function parsedBody(body: unknown): unknown {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return body;
  const parsed = parseStrictJson(body, { maxDepth });
  // With a repeated member in the message or its params two readers could see two calls.
  return parsed.ok && (parsed.duplicateDepth ?? 3) > 2 ? parsed.value : undefined;
}

/**
 * The target of one JSON-RPC message: a tool, a method declared like one, or the server itself. Undefined for a batch, an
 * invalid message and a name that no target reference allows (docs/reference/enforcement-point.md#mcp-messages).
 */
export function callOf({ server, tools = {}, dataClass }: McpServer, body: unknown): McpCall | undefined {
  const message = messageShape.safeParse(body).data;
  if (!message) return undefined;
  const { id, method, params } = message;
  if (method === undefined || isSessionMessage({ id, method })) {
    return { ...sessionCall(server), id: method === undefined ? undefined : id };
  }
  const named = new Map(Object.entries(tools));
  if (method !== "tools/call") return toolCall(`mcp:${server}#${method}`, named.get(`#${method}`), id);
  const name = params?.name;
  if (typeof name !== "string") return undefined;
  // `#name` denotes a method, so a tool of that name has no entry of its own.
  return toolCall(`mcp:${server}/${name}`, (name.startsWith("#") ? undefined : named.get(name)) ?? dataClass, id);
}

/** A message that opens, keeps or ends a session with the server. */
export const sessionCall = (server: string): McpCall => ({
  audience: `mcp:${server}`,
  dataClass: protocolDataClass,
  id: undefined,
});

const toolCall = (audience: string, dataClass: string | undefined, id: McpCall["id"]): McpCall | undefined =>
  isToolRef(audience) ? { audience, dataClass, id } : undefined;
