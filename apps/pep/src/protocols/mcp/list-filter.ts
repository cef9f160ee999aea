import { type RawHeaders, valuesOf } from "../../message/headers.ts";
import type { Answer } from "../../message/write-answer.ts";
import { upstreamFaultAnswer } from "../answers.ts";
import type { BodyFilter } from "../protocol.ts";
import { createEventFilter } from "./event-filter.ts";
import { type HeldMessage, holdMessage, type ListContext, refusal } from "./held-message.ts";

/**
 * Removes what the caller may not call from lists (docs/reference/enforcement-point.md#lists), from a JSON answer
 * and from every message of an event stream. Types are searched anywhere in the header, as some clients do. An answer
 * that cannot be read is replaced as a whole.
 */
export function listFilter(context: ListContext, status: number, headers: RawHeaders): BodyFilter | Answer | undefined {
  if (status < 200 || status === 204 || status === 304) return undefined;
  const type = valuesOf(headers, "content-type").join(", ").toLowerCase();
  const isPlain = valuesOf(headers, "content-encoding").every((coding) => coding.toLowerCase() === "identity");
  const isRead = type.includes("event-stream") || type.includes("json");
  // A client reads no message out of an error page, and waits for none where it sent no request.
  if (!isRead && (status >= 300 || status === 202 || (context.id === undefined && !context.mayList))) return undefined;
  if (!isRead || !isPlain || status === 206) return wholeRefusal(context);
  return type.includes("event-stream") ? createEventFilter(() => holdMessage(context)) : jsonFilter(context);
}

function jsonFilter(context: ListContext): BodyFilter {
  let held: HeldMessage | undefined;
  return {
    push(chunk) {
      held ??= holdMessage(context);
      return held.write(chunk);
    },
    end: () => held?.end(false) ?? Buffer.alloc(0),
  };
}

/** In place of the whole answer. Where no request waits, the upstream failed. */
function wholeRefusal(context: ListContext): Answer {
  if (context.id === undefined) return upstreamFaultAnswer("upstream_unreachable");
  const headers = ["content-type", "application/json", "cache-control", "no-store"];
  return { status: 200, headers, body: refusal(context, undefined) };
}
