import { folded } from "@svc/classify";
import type { TraceHeaders } from "@svc/telemetry";
import { parseStrictJson } from "@svc/tokens";
import { z } from "zod";
import type { MessageId } from "../protocol.ts";

type Members = Readonly<Record<string, unknown>>;

/** The parts of a JSON-RPC message that name a call. */
export interface McpMessage {
  /** Present exactly for a request: its answer repeats it. */
  readonly id: MessageId | undefined;
  /** Absent for an answer to the server. */
  readonly method: string | undefined;
  readonly params: Members;
  /** Every reader finds the same values in it. */
  readonly isExact: boolean;
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
  const isExact = parsed.duplicateDepth === null && !parsed.unsafeNumber && !parsed.loneSurrogate;
  return { id: isAnswer ? undefined : id, method, params, isExact };
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
  params: z.looseObject({}).default({}),
});

/** Folded name to its one accepted spelling. */
export const spellings = (...names: string[]) => new Map(names.map((name) => [folded(name), name]));

const messageNames = spellings("jsonrpc", "id", "method", "params", "result", "error");
const paramsNames = spellings(
  ...["_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "inputResponses", "level"],
  ...[
    "name",
    "notifications",
    "protocolVersion",
    "reason",
    "ref",
    "requestId",
    "requestState",
    "task",
    "taskId",
    "uri",
  ],
);

/** Whether a name differs from a known one only in case. */
export const isDisguisedName = (name: string, known: ReadonlyMap<string, string>): boolean =>
  (known.get(folded(name)) ?? name) !== name;

const isDisguised = (members: object | undefined, known: ReadonlyMap<string, string>): boolean =>
  Object.keys(members ?? {}).some((name) => isDisguisedName(name, known));

/** A member of `params`, where it is a text. */
export const textIn = ({ params }: Pick<McpMessage, "params">, member: string): string | undefined => {
  const value = params[member];
  return typeof value === "string" ? value : undefined;
};

/** A member of the message's own `_meta`, where it is a text. */
export const metaText = (
  { params: { _meta: meta } }: Pick<McpMessage, "params">,
  member: string,
): string | undefined =>
  typeof meta === "object" && meta !== null ? textIn({ params: meta as Members }, member) : undefined;

/** The trace context of `_meta` (MCP 2026-07-28: OpenTelemetry trace context). */
export const traceIn = (message: McpMessage): TraceHeaders => ({
  traceparent: metaText(message, "traceparent"),
  tracestate: metaText(message, "tracestate"),
  baggage: metaText(message, "baggage"),
});
