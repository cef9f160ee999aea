import { type SpanContext, type SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { InstrumentationScope } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import type { Attributes } from "./facts.ts";
import { sdk } from "./sdk.ts";

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
 * Makes spans as the exporter reads them. They are made here, once they are over, and not by the SDK's tracer: that copies
 * and checks every attribute again, and cuts them to the limits of `OTEL_*` variables, which could part a deny from its
 * reason. Events, links and a status message have no place in them.
 */
export function spanFinisher(origin: SpanOrigin): (start: SpanStart, end: SpanEnd) => ReadableSpan {
  const { millisToHrTime } = sdk.core();
  return (start, end) => ({
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
}
