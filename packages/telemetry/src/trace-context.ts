import { createTraceState } from "@opentelemetry/api";

/** A caller's span, adopted as parent whatever its sampled flag (docs/reference/telemetry.md#trace-context). */
export interface RemoteParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  /** Passed on to the target with our own `traceparent`; never exported, since callers may write anything into it. */
  readonly tracestate?: string | undefined;
}

export interface InboundTraceContext {
  /** Absent: the span becomes the root of a new trace. */
  readonly parent: RemoteParent | undefined;
  readonly rejected: "malformed" | "absent" | undefined;
  /** Baggage is never parsed: other parsers ran out of memory on it. */
  readonly baggageDropped: boolean;
}

/** Header names in lower case, as Node and Hono give them. A list holds the values of a repeated header. */
export interface TraceHeaders {
  readonly traceparent?: string | readonly string[] | undefined;
  readonly tracestate?: string | readonly string[] | undefined;
  readonly baggage?: string | readonly string[] | undefined;
}

const traceparentPattern = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longer than any vendor's state: the whole context is refused. */
const maxTracestateLength = 8192;

const joined = (value: string | readonly string[] | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : value.join(",");

/** W3C Trace Context, 3.2: version ff is invalid, version 00 ends after the flags, a later one may continue after a dash. */
function parseTraceparent(value: string): Omit<RemoteParent, "tracestate"> | undefined {
  const [, version, traceId, spanId, flags, rest] = traceparentPattern.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

/** Reads a caller's trace context. A repeated `traceparent` is malformed; a bad `tracestate` is left out (W3C, 3.3). */
export function readTraceContext(headers: TraceHeaders): InboundTraceContext {
  const baggageDropped = headers.baggage !== undefined;
  const traceparent = joined(headers.traceparent);
  if (traceparent === undefined) return { parent: undefined, rejected: "absent", baggageDropped };

  const tracestate = joined(headers.tracestate) ?? "";
  const parsed = tracestate.length > maxTracestateLength ? undefined : parseTraceparent(traceparent);
  if (parsed === undefined) return { parent: undefined, rejected: "malformed", baggageDropped };

  const kept = tracestate && createTraceState(tracestate).serialize();
  return { parent: kept ? { ...parsed, tracestate: kept } : parsed, rejected: undefined, baggageDropped };
}

/** The W3C header value, version 00. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: RemoteParent): string =>
  `00-${traceId}-${spanId}-${traceFlags & 1 ? "01" : "00"}`;
