import { type SpanContext, type SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { InstrumentationScope } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import type { Attributes } from "./facts.ts";
import { sdk } from "./sdk.ts";

/** What is known at the start of a span. */
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

/** The same for every span of a process. */
export interface SpanOrigin {
  readonly resource: Resource;
  readonly instrumentationScope: InstrumentationScope;
}

/**
 * Makes finished spans for the exporter. Not by the SDK's tracer: it copies and checks every attribute again, and cuts
 * them to the limits of `OTEL_*` variables, which could drop the reason of a deny. A queued span is two objects that exist
 * anyway; times are converted when the exporter reads them. Events, links and a status message are never set.
 */
export function spanFinisher(origin: SpanOrigin): (start: SpanStart, end: SpanEnd) => ReadableSpan {
  const { millisToHrTime } = sdk.core();

  class FinishedSpan implements ReadableSpan {
    readonly #start: SpanStart;
    readonly #end: SpanEnd;
    declare readonly parentSpanContext?: SpanContext;
    constructor(start: SpanStart, end: SpanEnd) {
      this.#start = start;
      this.#end = end;
      if (start.parentSpanContext) this.parentSpanContext = start.parentSpanContext;
    }
    get name() {
      return this.#start.name;
    }
    get kind() {
      return this.#start.kind;
    }
    spanContext() {
      return this.#start.spanContext;
    }
    get startTime() {
      return millisToHrTime(this.#start.startedAtMs);
    }
    get endTime() {
      return millisToHrTime(this.#start.startedAtMs + this.#end.durationMs);
    }
    get duration() {
      return millisToHrTime(this.#end.durationMs);
    }
    get ended() {
      return true;
    }
    get status() {
      return this.#end.hasFailed ? failed : unset;
    }
    get attributes() {
      return this.#end.attributes;
    }
    get events() {
      return [];
    }
    get links() {
      return [];
    }
    get droppedAttributesCount() {
      return 0;
    }
    get droppedEventsCount() {
      return 0;
    }
    get droppedLinksCount() {
      return 0;
    }
    get resource() {
      return origin.resource;
    }
    get instrumentationScope() {
      return origin.instrumentationScope;
    }
  }
  return (start, end) => new FinishedSpan(start, end);
}

const failed = { code: SpanStatusCode.ERROR };
const unset = { code: SpanStatusCode.UNSET };
