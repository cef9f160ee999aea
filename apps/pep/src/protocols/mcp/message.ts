import { parseStrictJson } from "@svc/tokens";
import { z } from "zod";
import { type RawHeaders, valuesInAnySpelling } from "../../message/headers.ts";
import type { MessageId } from "../protocol.ts";

/** The parts of a JSON-RPC message that name a call. */
export interface McpMessage {
  /** Present exactly for a request: its answer repeats it. */
  readonly id: MessageId | undefined;
  /** Absent for an answer to the server. */
  readonly method: string | undefined;
  /** `params.name` and `params.uri`. */
  readonly name: string | undefined;
  readonly uri: string | undefined;
}

/** Deeper messages are refused before anything recurses into them. */
export const maxMessageDepth = 512;

/**
 * Reads a message from the bytes that will be sent. Undefined if two readers could read it differently: a batch, a
 * repeated member, one that differs from a known name only in case (docs/reference/enforcement-point.md#mcp-messages).
 */
export function readMessage(bytes: Uint8Array): McpMessage | undefined {
  const parsed = parseStrictJson(bytes, { maxDepth: maxMessageDepth });
  // Deeper repeats do not change the call.
  if (!parsed.ok || (parsed.duplicateDepth ?? 3) <= 2) return undefined;
  const message = messageShape.safeParse(parsed.value).data;
  if (!message || isDisguised(message, messageNames) || isDisguised(message.params, paramsNames)) return undefined;
  const { id, method, params } = message;
  const isAnswer = "result" in message || "error" in message;
  // A message must not be an answer here and a call at the server, or the reverse.
  if (isAnswer === (method !== undefined) || (isAnswer && id === undefined)) return undefined;
  return { id: isAnswer ? undefined : id, method, name: textOf(params?.name), uri: textOf(params?.uri) };
}

const messageShape = z.looseObject({
  jsonrpc: z.literal("2.0"),
  // Our answer repeats it, so it must be read without loss.
  id: z.union([z.string(), z.number().refine((id) => Number.isSafeInteger(id) || !Number.isInteger(id))]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
});

/** Case folding of the most liberal JSON decoders: U+017F is an `s`, U+212A a `k`. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** Folded name to its one accepted spelling. */
export const spellings = (...names: string[]) => new Map(names.map((name) => [folded(name), name]));

const messageNames = spellings("jsonrpc", "id", "method", "params", "result", "error");
const paramsNames = spellings(
  ...["_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "level", "name"],
  ...["protocolVersion", "reason", "ref", "requestId", "task", "taskId", "uri"],
);

/** Whether a name differs from a known one only in case. */
export const isDisguisedName = (name: string, known: ReadonlyMap<string, string>): boolean =>
  (known.get(folded(name)) ?? name) !== name;

const isDisguised = (members: object | undefined, known: ReadonlyMap<string, string>): boolean =>
  Object.keys(members ?? {}).some((name) => isDisguisedName(name, known));

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Whether headers that repeat the body's method and name agree with it, in every spelling that a server may read. */
export function isMirrored({ method, name, uri }: McpMessage, headers: RawHeaders): boolean {
  const agrees = (header: string, expected: string | undefined) =>
    valuesInAnySpelling(headers, header).every((value) => value === expected);
  return agrees("mcp-method", method) && agrees("mcp-name", name ?? uri);
}
