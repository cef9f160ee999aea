import { toolRef } from "@svc/core";
import { parseStrictJson } from "@svc/tokens";
import { z } from "zod";
import { protocolCall } from "../../resolve/resolve.ts";
import type { McpUpstream } from "../../upstreams/upstream.ts";
import type { CallTarget } from "../routes.ts";

export type JsonRpcId = string | number;

/** One JSON-RPC message, as far as it says what is called. */
export interface McpMessage {
  /** Present exactly for a request: what waits for an answer. */
  readonly id: JsonRpcId | undefined;
  /** Absent for an answer to the server. */
  readonly method: string | undefined;
  /** `params.name` and `params.uri`. */
  readonly name: string | undefined;
  readonly uri: string | undefined;
}

/** Deep enough for any message, and nothing recurses into it before it is refused. */
export const maxMessageDepth = 512;

/**
 * Reads a message from the bytes that will be sent, or undefined for whatever two readers could read differently: a
 * batch, a repeated member, one that differs from a known name only in case (contract: How a call finds its target).
 */
export function readMessage(bytes: Uint8Array): McpMessage | undefined {
  const parsed = parseStrictJson(bytes, { maxDepth: maxMessageDepth });
  // Repeats farther in take no part in what is called.
  if (!parsed.ok || (parsed.duplicateDepth ?? 3) <= 2) return undefined;
  const message = messageShape.safeParse(parsed.value).data;
  if (!message || isDisguised(message, messageNames) || isDisguised(message.params, paramsNames)) return undefined;
  const { id, method, params } = message;
  const isAnswer = "result" in message || "error" in message;
  // A server must not take for a call what was decided on as an answer, nor the other way round.
  if (isAnswer === (method !== undefined) || (isAnswer && id === undefined)) return undefined;
  return { id: isAnswer ? undefined : id, method, name: textOf(params?.name), uri: textOf(params?.uri) };
}

const messageShape = z.looseObject({
  jsonrpc: z.literal("2.0"),
  // An answer of ours repeats it, so it must survive being read.
  id: z.union([z.string(), z.number().refine((id) => Number.isSafeInteger(id) || !Number.isInteger(id))]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
});

/** Case folding as the most liberal JSON decoders do it: U+017F is an `s` and U+212A a `k` to them. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** Folded name to the one spelling of it that counts. */
export const spellings = (...names: string[]) => new Map(names.map((name) => [folded(name), name]));

const messageNames = spellings("jsonrpc", "id", "method", "params", "result", "error");
const paramsNames = spellings(
  ...["_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "level", "name"],
  ...["protocolVersion", "reason", "ref", "requestId", "task", "taskId", "uri"],
);

/** Whether some member differs from a known name only in case. */
export const isDisguised = (members: object | undefined, known: ReadonlyMap<string, string>): boolean =>
  Object.keys(members ?? {}).some((name) => (known.get(folded(name)) ?? name) !== name);

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const sessionMethods = new Set(["initialize", "ping", "tools/list"]);

/** What a message calls, or undefined where the configuration gives it no data class or no legal name. */
export function resolveMessage(upstream: McpUpstream, { id, method, name }: McpMessage): CallTarget | undefined {
  const isNotification = id === undefined && method?.startsWith("notifications/");
  if (method === undefined || isNotification || sessionMethods.has(method)) return protocolCall(upstream);
  if (method === "tools/call") {
    return name === undefined ? undefined : toolCall(`${upstream.name}/${name}`, dataClassOfTool(upstream, name));
  }
  return toolCall(`${upstream.name}#${method}`, upstream.tools.get(`#${method}`));
}

/** `#name` is how the file spells a method, so a tool of that name has no entry of its own. */
export const dataClassOfTool = ({ tools, dataClass }: McpUpstream, name: string): string | undefined =>
  (name.startsWith("#") ? undefined : tools.get(name)) ?? dataClass;

function toolCall(ref: string, dataClass: string | undefined): CallTarget | undefined {
  const target = `mcp:${ref}`;
  if (dataClass === undefined || !toolRef.safeParse(target).success) return undefined;
  return { target, targetKind: "tool", dataClass };
}
