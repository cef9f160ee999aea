import { type SpanContext, type SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { SpanName } from "./contract-types.ts";
import { type Attributes, attributesJson } from "./facts.ts";

/** What is known at the start of a span. */
export interface SpanStart {
  readonly name: SpanName;
  readonly kind: SpanKind;
  readonly spanContext: SpanContext;
  readonly parentSpanContext: SpanContext | undefined;
}

export interface SpanEnd {
  /** Whole milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly hasFailed: boolean;
}

/** Nanoseconds since the epoch, as OTLP's JSON has them: digits in a string, since a number would lose the last ones. */
function unixNanos(atMs: number, laterMs: number): string {
  const laterNanos = Math.round(laterMs * 1e6);
  const wholeMs = Math.floor(laterNanos / 1e6);
  return `${atMs + wholeMs}${String(laterNanos - wholeMs * 1e6).padStart(6, "0")}`;
}

/** The lowest eight bits are the trace flags; then whether the next bit is known, and whether the parent is remote. */
const [isRemoteKnown, isRemote] = [0x100, 0x200];

const parentJson = (parent: SpanContext | undefined) => (parent ? `,"parentSpanId":"${parent.spanId}"` : "");

/** As the SDK's serializer writes a span (OTLP 1.x, "JSON Protobuf Encoding"); ids and names need no escapes. */
export function spanJson({ name, kind, spanContext, parentSpanContext }: SpanStart, end: SpanEnd): string {
  const { startedAtMs, durationMs, attributes, hasFailed } = end;
  const flags = (spanContext.traceFlags & 0xff) | isRemoteKnown | (parentSpanContext ? isRemote : 0);
  const status = hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET;
  const ids = `"traceId":"${spanContext.traceId}","spanId":"${spanContext.spanId}"${parentJson(parentSpanContext)}`;
  const times = `"startTimeUnixNano":"${startedAtMs}000000","endTimeUnixNano":"${unixNanos(startedAtMs, durationMs)}"`;
  const facts = `"attributes":[${attributesJson(attributes)}],"droppedAttributesCount":0`;
  const rest = `"events":[],"droppedEventsCount":0,"status":{"code":${status}},"links":[],"droppedLinksCount":0`;
  return `{${ids},"name":"${name}","kind":${kind + 1},${times},${facts},${rest},"flags":${flags}}`;
}
