import type { ErrorCode } from "@svc/core";
import type { Span, TraceHeaders } from "@svc/telemetry";
import type { Context } from "hono";
import type { Events, HopEvents } from "../../events/events.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { App } from "../../http/routes.ts";

/**
 * One event a request, however it ends (docs/reference/telemetry.md#spans). A request that does not reach its command
 * is malformed; the returned function reports the others.
 */
export function hopEndpoint<Result>(app: App, path: string, { within }: Events, events: HopEvents<Result>) {
  const spans = new WeakMap<Context, Span | undefined>();
  app.use(path, async (c, next) => {
    const span = events.started(traceHeaders(c.req.raw.headers));
    spans.set(c, span);
    await within(span, next);
    if (spans.has(c)) events.malformed(span);
  });
  return async (c: Context, command: Promise<Result>): Promise<Result> => {
    const span = spans.get(c);
    spans.delete(c);
    const result = await command.catch((error: unknown) => {
      events.unavailable(span, error);
      throw error;
    });
    events.answered(span, result);
    return result;
  };
}

const traceHeaders = (headers: Headers): TraceHeaders => ({
  traceparent: headers.get("traceparent") ?? undefined,
  tracestate: headers.get("tracestate") ?? undefined,
  baggage: headers.get("baggage") ?? undefined,
});

/**
 * The endpoint's own error: without its commit nothing is answered, whatever prevented it. The endpoint's event has
 * logged the fault.
 */
export const unavailableAs = (code: ErrorCode, message: string) => (cause: unknown) => {
  throw new ApiError(code, message, { cause });
};

export const actorUnproven = (): ApiError =>
  invalidRequest("The actor token is missing or does not prove the caller.", [
    { path: "actor_token", message: "must be signed by the caller's enrolled key for this token" },
  ]);
