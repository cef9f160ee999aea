import { type SpanContext, type SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { type InstrumentationScope, millisToHrTime } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import type { Attributes } from "./facts.ts";

/** What a span has from its start on. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly spanContext: SpanContext;
  readonly parentSpanContext: SpanContext | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
}

export interface SpanEnd {
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly hasFailed: boolean;
}

/** Who emits: the same for every span of a process. */
export interface SpanOrigin {
  readonly resource: Resource;
  readonly instrumentationScope: InstrumentationScope;
}

/**
 * A span as the exporter reads it. It is made here, once it is over, and not by the SDK's tracer: that copies and checks
 * every attribute again, and cuts them to the limits of `OTEL_*` variables, which could part a deny from its reason.
 * Events, links and a status message have no place in it.
 */
export const finishedSpan = (start: SpanStart, end: SpanEnd, origin: SpanOrigin): ReadableSpan => ({
  name: start.name,
  kind: start.kind,
  spanContext: () => start.spanContext,
  ...(start.parentSpanContext && { parentSpanContext: start.parentSpanContext }),
  startTime: millisToHrTime(start.startedAtMs),
  endTime: millisToHrTime(start.startedAtMs + end.durationMs),
  duration: millisToHrTime(end.durationMs),
  ended: true,
  status: { code: end.hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
  attributes: end.attributes,
  events: [],
  links: [],
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
  resource: origin.resource,
  instrumentationScope: origin.instrumentationScope,
});
