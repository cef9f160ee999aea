import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTraceparent, readTraceContext } from "../src/index.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const valid = `00-${traceId}-${spanId}-01`;
const parent = { traceId, spanId, traceFlags: 1 };

test("a request without trace context is accepted", () => {
  expect(readTraceContext({})).toEqual({ parent: undefined, rejected: "absent", baggageDropped: false });
});

test.each([
  ["sampled", valid, parent],
  ["not sampled", `00-${traceId}-${spanId}-00`, { ...parent, traceFlags: 0 }],
  ["with flags of a later level", `00-${traceId}-${spanId}-ff`, parent],
  ["of a later version", `cc-${traceId}-${spanId}-01`, parent],
  ["of a later version that continues", `cc-${traceId}-${spanId}-01-what-the-future-holds`, parent],
])("a traceparent %s is adopted", (_name, traceparent, expected) => {
  expect(readTraceContext({ traceparent })).toEqual({ parent: expected, rejected: undefined, baggageDropped: false });
});

test.each([
  ["an all-zero trace id", `00-${"0".repeat(32)}-${spanId}-01`],
  ["an all-zero span id", `00-${traceId}-${"0".repeat(16)}-01`],
  ["version ff", `ff-${traceId}-${spanId}-01`],
  ["an uppercase trace id", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["an uppercase span id", `00-${traceId}-${spanId.toUpperCase()}-01`],
  ["version 00 that continues", `${valid}-more`],
  ["a later version that continues without a dash", `cc-${traceId}-${spanId}-01.more`],
  ["a repeated header, joined", `${valid}, ${valid}`],
  ["a repeated header, as a list", [valid, valid]],
  ["a short trace id", `00-${traceId.slice(1)}-${spanId}-01`],
  ["a long span id", `00-${traceId}-${spanId}0-01`],
  ["no flags", `00-${traceId}-${spanId}`],
  ["nothing", ""],
  ["an empty list", []],
  ["white space around", ` ${valid} `],
  ["a line break", `${valid}\n`],
  ["another text", "garbage"],
])("a traceparent with %s is malformed and starts a new trace", (_name, traceparent) => {
  expect(readTraceContext({ traceparent })).toEqual({
    parent: undefined,
    rejected: "malformed",
    baggageDropped: false,
  });
});

test("a tracestate of 10 kB is malformed and starts a new trace", () => {
  const tracestate = `vendor=${"x".repeat(10_000)}`;
  expect(readTraceContext({ traceparent: valid, tracestate }).rejected).toBe("malformed");
  const inPieces = Array.from({ length: 40 }, (_, n) => `v${n}=${"x".repeat(250)}`);
  expect(readTraceContext({ traceparent: valid, tracestate: inPieces }).rejected).toBe("malformed");
});

test("a tracestate is kept for outgoing calls, its repeated headers in order", () => {
  expect(readTraceContext({ traceparent: valid, tracestate: ["a=1,b=2", "c=3"] }).parent).toEqual({
    ...parent,
    tracestate: "a=1,b=2,c=3",
  });
});

test.each(["no-equals-sign", "UPPER=1", "a=b=c", " , ,", `a=${"x".repeat(600)}`])(
  "a tracestate that does not parse (%s) does not cost the parent",
  (tracestate) => {
    expect(readTraceContext({ traceparent: valid, tracestate })).toMatchObject({ parent, rejected: undefined });
  },
);

test.each([
  ["a parent", { traceparent: valid, baggage: "user=alice" }, undefined],
  ["no parent", { baggage: "user=alice" }, "absent"],
  ["a malformed parent", { traceparent: "garbage", baggage: ["a=1", "b=2"] }, "malformed"],
  ["10 MB of it", { traceparent: valid, baggage: "x".repeat(10_000_000) }, undefined],
])("baggage beside %s is dropped unread", (_name, headers, rejected) => {
  const read = readTraceContext(headers);
  expect(read).toMatchObject({ baggageDropped: true, rejected });
  expect(JSON.stringify(read)).not.toContain("alice");
});

test("every accepted trace context is accepted by OpenTelemetry's propagator, with the same ids", () => {
  const hex = (length: number) =>
    fc.string({ unit: fc.constantFrom(..."0123456789abcdefAF-"), minLength: length, maxLength: length });
  const near = fc.tuple(fc.constantFrom("00", "01", "ff"), hex(32), hex(16), hex(2)).map((parts) => parts.join("-"));
  const getter = { get: (carrier: Record<string, string>, name: string) => carrier[name], keys: Object.keys };
  const propagator = new W3CTraceContextPropagator();
  fc.assert(
    fc.property(fc.oneof(near, fc.string()), (traceparent) => {
      const theirs = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, getter));
      const ours = readTraceContext({ traceparent }).parent;
      if (ours) expect(theirs).toMatchObject({ traceId: ours.traceId, spanId: ours.spanId });
    }),
  );
});

test("an outgoing traceparent is read as the span that it names", () => {
  const hex = (length: number) =>
    fc
      .string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length })
      .filter((id) => /[^0]/.test(id));
  fc.assert(
    fc.property(hex(32), hex(16), fc.constantFrom(0, 1), (id, span, traceFlags) => {
      const made = { traceId: id, spanId: span, traceFlags };
      expect(readTraceContext({ traceparent: formatTraceparent(made) }).parent).toEqual(made);
    }),
  );
});
