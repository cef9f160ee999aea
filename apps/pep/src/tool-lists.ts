import { isWithin } from "@svc/core";
import type { AllowedTools } from "./allowed-tools.ts";
import { type RawHeaders, valuesOf } from "./headers.ts";
import { dataClassOfTool, type JsonRpcId } from "./mcp.ts";
import type { BodyFilter } from "./relay.ts";
import type { McpUpstream } from "./upstream.ts";

/** Longer is no list of tools; held in memory until its end is seen. */
const maxMessageBytes = 8 * 1024 * 1024;

export interface ToolListContext {
  readonly upstream: McpUpstream;
  /** Undefined: what is allowed could not be learnt, and lists are empty. */
  readonly allowed: AllowedTools | undefined;
  /** Of the `tools/list` request, where this is its answer. */
  readonly id: JsonRpcId | undefined;
}

/**
 * Leaves out of a tool list what the caller may not call (contract: `filter_tool_lists`), in a JSON answer and in every
 * message of an event stream. Undefined for a response that holds neither.
 */
export function toolListFilter(context: ToolListContext, headers: RawHeaders): BodyFilter | undefined {
  const type = valuesOf(headers, "content-type")[0]?.split(";")[0]?.trim().toLowerCase();
  const isEncoded = valuesOf(headers, "content-encoding").some((coding) => coding.toLowerCase() !== "identity");
  if (type === "text/event-stream") return isEncoded ? emptied : eventFilter(context);
  if (type === "application/json") return jsonFilter(context, isEncoded);
  return undefined;
}

/** What cannot be read cannot be filtered. */
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
      const text = isReadable ? filtered(context, Buffer.concat(chunks).toString("utf8")) : undefined;
      return Buffer.from(text ?? emptyList(context.id));
    },
  };
}

const emptyList = (id: JsonRpcId | undefined): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, result: { tools: [] } });

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
    // An event without its end is none, and is not passed on.
    end: () => Buffer.from(take(decoder.decode())),
  };
}

function filteredEvent(context: ToolListContext, event: string): string {
  const lines = event.split(/\r\n|\n|\r/);
  const isData = (line: string) => line === "data" || line.startsWith("data:");
  const data = lines.filter(isData).map((line) => line.slice(5).replace(/^ /, ""));
  if (data.length === 0) return event;
  const text = filtered(context, data.join("\n"));
  if (text === undefined) return event;
  return [...lines.filter((line) => !isData(line)), `data: ${text}`].join("\n");
}

/** The message with its tools filtered; as it was where it holds no tool list; undefined where it is no JSON. */
function filtered({ upstream, allowed }: ToolListContext, text: string): string | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  const result = memberOf(message, "result");
  const tools = memberOf(result, "tools");
  if (!Array.isArray(tools)) return text;
  const kept = tools.filter((tool) => isAllowed(upstream, allowed, memberOf(tool, "name")));
  return JSON.stringify({ ...(message as object), result: { ...(result as object), tools: kept } });
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function isAllowed(upstream: McpUpstream, allowed: AllowedTools | undefined, name: unknown): boolean {
  if (typeof name !== "string") return false;
  const dataClass = dataClassOfTool(upstream, name);
  const declared = allowed?.get(`mcp:${upstream.name}/${name}`);
  return dataClass !== undefined && declared !== undefined && isWithin(dataClass, declared);
}
