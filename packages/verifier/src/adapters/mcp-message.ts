import { protocolDataClass, toolRef } from "@svc/core";
import { parseStrictJson } from "@svc/tokens";
import { z } from "zod";

/** Which tool of an MCP server touches what; `#resources/read` names a method that is no tool. */
export interface McpServer {
  /** The server's name in target references: `mcp:<server>/<tool>`. */
  readonly server: string;
  /** For every tool not named in `tools`. */
  readonly dataClass?: string;
  readonly tools?: Readonly<Record<string, string>>;
}

export interface McpCall {
  readonly audience: string;
  /** Undefined where none is configured: such a call is not admitted. */
  readonly dataClass: string | undefined;
  /** Present exactly for a request: what waits for an answer. */
  readonly id: string | number | undefined;
}

const messageShape = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({ name: z.unknown() }).partial().optional(),
});

/** Deep enough for any message; nothing recurses into it before it is refused. */
const maxDepth = 512;

/** A body as text or bytes, or as a parser left it; undefined for what is no single JSON text. */
export function parsedBody(body: unknown): unknown {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return body;
  const parsed = parseStrictJson(body, { maxDepth });
  // A repeated member of the message or its params would let two readers see two calls.
  return parsed.ok && (parsed.duplicateDepth ?? 3) > 2 ? parsed.value : undefined;
}

const sessionMethods = new Set(["initialize", "ping", "tools/list"]);

/**
 * What one JSON-RPC message calls (docs/reference/enforcement-point.md#mcp-messages): a tool, a method declared like
 * one, or the server itself. Undefined for a batch, for no message, and for what no target reference could name.
 */
export function callOf({ server, tools = {}, dataClass }: McpServer, body: unknown): McpCall | undefined {
  const message = messageShape.safeParse(body).data;
  if (!message) return undefined;
  const { id, method, params } = message;
  const isNotification = id === undefined && method?.startsWith("notifications/");
  if (method === undefined || isNotification || sessionMethods.has(method)) {
    return { ...sessionCall(server), id: method === undefined ? undefined : id };
  }
  const named = new Map(Object.entries(tools));
  if (method !== "tools/call") return toolCall(`mcp:${server}#${method}`, named.get(`#${method}`), id);
  const name = params?.name;
  if (typeof name !== "string") return undefined;
  // `#name` is how a method is written, so a tool of that name has no entry of its own.
  return toolCall(`mcp:${server}/${name}`, (name.startsWith("#") ? undefined : named.get(name)) ?? dataClass, id);
}

/** What opens, keeps and ends a session with the server. */
export const sessionCall = (server: string): McpCall => ({
  audience: `mcp:${server}`,
  dataClass: protocolDataClass,
  id: undefined,
});

const toolCall = (audience: string, dataClass: string | undefined, id: McpCall["id"]): McpCall | undefined =>
  toolRef.safeParse(audience).success ? { audience, dataClass, id } : undefined;
