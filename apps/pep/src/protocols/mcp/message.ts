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

/** Why a body is not one message that every reader reads alike (docs/reference/blocks.md#blocked-calls). */
export type MessageFault = "malformed_message" | "batch" | "repeated_member" | "disguised_member" | "not_a_message";

/**
 * Reads a message from the bytes that will be sent, unless two readers could read it differently
 * (docs/reference/enforcement-point.md#mcp-messages).
 */
export function readMessage(bytes: Uint8Array): McpMessage | MessageFault {
  const parsed = parseStrictJson(bytes, { maxDepth: maxMessageDepth });
  if (!parsed.ok) return "malformed_message";
  if (Array.isArray(parsed.value)) return "batch";
  // Deeper repeats do not change the call.
  if ((parsed.duplicateDepth ?? 3) <= 2) return "repeated_member";
  const message = messageShape.safeParse(parsed.value).data;
  if (!message) return "not_a_message";
  if (isDisguised(message, messageNames) || isDisguised(message.params, paramsNames)) return "disguised_member";
  const { id, method, params } = message;
  const isAnswer = "result" in message || "error" in message;
  // A message must not be an answer here and a call at the server, or the reverse.
  if (isAnswer === (method !== undefined) || (isAnswer && id === undefined)) return "not_a_message";
  return { id: isAnswer ? undefined : id, method, name: textOf(params?.name), uri: textOf(params?.uri) };
}

/** The id that a request waits for which is too long to be a call. Nothing else of it counts. */
export function idOf(bytes: Uint8Array): MessageId | undefined {
  try {
    const { id, method } = messageShape.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
    return method === undefined ? undefined : id;
  } catch {
    return undefined;
  }
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
