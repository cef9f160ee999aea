import type { Span, TraceHeaders } from "@svc/telemetry";
import type { Context } from "hono";
import type { App } from "../../http/endpoint.ts";

interface SpanEvents {
  readonly within: <T>(span: Span, work: () => T) => T;
}

const spans = new WeakMap<Context, Span>();

/**
 * One span a request, however it ends (docs/reference/telemetry.md#spans). `unanswered` ends it where the request never
 * reached its command: no bearer, a malformed body.
 */
export function openSpan(
  app: App,
  path: string,
  { within }: SpanEvents,
  started: (inbound: TraceHeaders) => Span,
  unanswered: (span: Span) => void,
): void {
  app.use(path, async (c, next) => {
    const span = started(traceHeaders(c.req.raw.headers));
    spans.set(c, span);
    await within(span, next);
    if (spans.has(c)) unanswered(takeSpan(c));
  });
}

/** The request's span, for the one event that ends it. */
export function takeSpan(c: Context): Span {
  const span = spans.get(c);
  if (span === undefined) throw new Error("a hop endpoint answers under its span, once");
  spans.delete(c);
  return span;
}

const traceHeaders = (headers: Headers): TraceHeaders => ({
  traceparent: headers.get("traceparent") ?? undefined,
  tracestate: headers.get("tracestate") ?? undefined,
  baggage: headers.get("baggage") ?? undefined,
});
