import { mcpMeta } from "@svc/core";
import { z } from "zod";

/** A number that a double holds exactly, or a text. */
const id = z.union([z.string(), z.number().refine((number) => Number.isSafeInteger(number))]);
export type MessageId = z.infer<typeof id>;

const shape = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: id.optional(),
  method: z.string().optional(),
  params: z
    .looseObject({
      progressToken: id.optional().catch(undefined),
      requestId: id.optional().catch(undefined),
      _meta: z
        .looseObject({
          progressToken: id.optional().catch(undefined),
          [mcpMeta.subscriptionId]: id.optional().catch(undefined),
          [mcpMeta.revision]: z.string().optional().catch(undefined),
        })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  error: z.looseObject({ code: z.number() }).optional().catch(undefined),
});

/** What a message says of where it belongs. The message itself passes as its bytes. */
export interface Message {
  readonly kind: "request" | "notification" | "answer";
  readonly id: MessageId | undefined;
  readonly method: string | undefined;
  /** `params._meta.progressToken` of a request, `params.progressToken` of a notification. */
  readonly progressToken: MessageId | undefined;
  /** The request that a notification belongs to: of a subscription, or the one that it cancels. */
  readonly requestId: MessageId | undefined;
  /** `params._meta` names it since 2026-07-28. */
  readonly version: string | undefined;
  readonly errorCode: number | undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined: the bytes are no JSON-RPC 2.0 message in UTF-8. */
export function readMessage(bytes: Uint8Array): Message | undefined {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
  const message = shape.safeParse(value).data;
  if (!message) return undefined;
  const { id, method, params, error } = message;
  const kind = kindOf(message);
  if (kind === undefined) return undefined;
  const meta = params?._meta;
  return {
    ...{ kind, id, method },
    progressToken: kind === "request" ? meta?.progressToken : params?.progressToken,
    requestId: meta?.[mcpMeta.subscriptionId] ?? params?.requestId,
    version: meta?.[mcpMeta.revision],
    errorCode: error?.code,
  };
}

function kindOf({ id, method, ...rest }: z.infer<typeof shape>): Message["kind"] | undefined {
  const isAnswer = "result" in rest || "error" in rest;
  if (method === undefined) return isAnswer && id !== undefined ? "answer" : undefined;
  if (isAnswer) return undefined;
  return id === undefined ? "notification" : "request";
}

const [lineFeed, carriageReturn, space] = [0x0a, 0x0d, 0x20];

/**
 * A JSON text as one line, every other byte unchanged. In JSON raw line ends exist between tokens alone
 * (RFC 8259 section 7), where a space means the same.
 */
export function onOneLine(json: Uint8Array): Buffer {
  const line = Buffer.from(json);
  for (const end of [lineFeed, carriageReturn]) {
    for (let at = line.indexOf(end); at !== -1; at = line.indexOf(end, at + 1)) line[at] = space;
  }
  return line;
}
