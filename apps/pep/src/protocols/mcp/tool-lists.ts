import { isWithin } from "@svc/core";
import { isJsonObject, parseStrictJson } from "@svc/tokens";
import { type RawHeaders, valuesOf } from "../../message/headers.ts";
import type { AllowedTools, BodyFilter, MessageId } from "../protocol.ts";
import { isDisguised, maxMessageDepth, spellings } from "./message.ts";
import type { McpTargets } from "./targets.ts";

/** A longer message is not filtered but emptied; it is in memory until its end. */
const maxMessageBytes = 8 * 1024 * 1024;

export interface ToolListContext {
  readonly targets: Pick<McpTargets, "ofTool">;
  /** Undefined: unknown, and lists are emptied. */
  readonly allowed: AllowedTools | undefined;
  /** Of the `tools/list` request, where this is its answer. */
  readonly id: MessageId | undefined;
}

/**
 * Removes the tools that the caller may not call (docs/reference/enforcement-point.md#tool-lists), from a JSON answer
 * and from every message of an event stream. Types are searched anywhere in the header, as some clients do.
 */
export function toolListFilter(context: ToolListContext, headers: RawHeaders): BodyFilter | undefined {
  const type = valuesOf(headers, "content-type").join(", ").toLowerCase();
  const isEncoded = valuesOf(headers, "content-encoding").some((coding) => coding.toLowerCase() !== "identity");
  if (type.includes("event-stream")) return isEncoded ? emptied : eventFilter(context);
  if (type.includes("json")) return jsonFilter(context, isEncoded);
  return undefined;
}

/** A compressed stream cannot be filtered. */
const emptied: BodyFilter = { push: () => Buffer.alloc(0), end: () => Buffer.alloc(0) };

function jsonFilter(context: ToolListContext, isEncoded: boolean): BodyFilter {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) chunks.push(chunk);
      return Buffer.alloc(0);
    },
    end() {
      if (bytes === 0) return Buffer.alloc(0);
      const isReadable = !isEncoded && bytes <= maxMessageBytes;
      const json = Buffer.concat(chunks);
      return isReadable ? Buffer.from(filtered(context, json) ?? json) : Buffer.from(emptyList(context.id));
    },
  };
}

const emptyList = (id: unknown): string => JSON.stringify({ jsonrpc: "2.0", id: id ?? null, result: { tools: [] } });

/** An empty line ends an event, and a line may end in three ways (HTML standard: Server-sent events). */
const eventEnd = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;

function eventFilter(context: ToolListContext): BodyFilter {
  const decoder = new TextDecoder();
  let pending = "";
  const take = (text: string): string => {
    pending += text;
    let passed = "";
    for (let end = eventEnd.exec(pending); end; end = eventEnd.exec(pending)) {
      passed += filteredEvent(context, pending.slice(0, end.index)) + end[0];
      pending = pending.slice(end.index + end[0].length);
    }
    if (pending.length > maxMessageBytes) throw new RangeError("event too long to filter");
    return passed;
  };
  return {
    push: (chunk) => Buffer.from(take(decoder.decode(chunk, { stream: true }))),
    // An event without its end is dropped.
    end: () => Buffer.from(take(decoder.decode())),
  };
}

function filteredEvent(context: ToolListContext, event: string): string {
  const lines = event.split(/\r\n|\n|\r/);
  const isData = (line: string) => line === "data" || line.startsWith("data:");
  const data = lines.filter(isData).map((line) => line.slice(5).replace(/^ /, ""));
  const json = data.join("\n");
  // A resumable stream begins without data; only an object or array is a message.
  const text = /^\s*[[{]/.test(json) ? filtered(context, json) : undefined;
  if (text === undefined) return event;
  return [...lines.filter((line) => !isData(line)), `data: ${text}`].join("\n");
}

/** A message is 1 deep, its result 2, the list 3, a tool 4. Deeper repeats name no tool. */
const toolDepth = 4;

/** The message with its tools filtered, or emptied if readers could differ; undefined: it contains no list. */
function filtered({ targets, allowed, id }: ToolListContext, json: string | Uint8Array): string | undefined {
  const parsed = parseStrictJson(json, { maxDepth: maxMessageDepth });
  // Other readers accept more than JSON: NaN, comments, other encodings.
  if (!parsed.ok || Array.isArray(parsed.value)) return emptyList(id);
  const { value: message } = parsed;
  const repeatsAt = parsed.duplicateDepth ?? Number.POSITIVE_INFINITY;
  if (!isJsonObject(message)) return undefined;
  const { result } = message;
  const isUnclear = (members: object, depth: number, names: ReadonlyMap<string, string>) =>
    repeatsAt === depth || isDisguised(members, names);
  if (isUnclear(message, 1, messageNames)) return emptyList(id ?? message.id);
  if (!isJsonObject(result)) return undefined;
  if (isUnclear(result, 2, resultNames)) return emptyList(id ?? message.id);
  const { tools } = result;
  if (!Array.isArray(tools)) return undefined;
  if (repeatsAt <= toolDepth) return emptyList(id ?? message.id);
  const kept = tools.filter((tool) => isAllowed(targets, allowed, tool));
  return JSON.stringify({ ...message, result: { ...result, tools: kept } });
}

const messageNames = spellings("result");
const resultNames = spellings("tools");
const toolNames = spellings("name");

function isAllowed(targets: ToolListContext["targets"], allowed: AllowedTools | undefined, tool: unknown): boolean {
  if (!isJsonObject(tool) || isDisguised(tool, toolNames) || typeof tool.name !== "string") return false;
  const call = targets.ofTool(tool.name);
  if (!call) return false;
  const declared = allowed?.get(call.target);
  return declared !== undefined && isWithin(call.dataClass, declared);
}
