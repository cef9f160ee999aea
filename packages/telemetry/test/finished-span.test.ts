import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type SpanFacts, verdictFacts } from "../src/index.ts";
import { createTracing } from "../src/tracing.ts";
import { attributesOf, type Collector, startCollector } from "./support/collector.ts";

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags: 1 };
const facts = {
  "authz.hop": 2,
  "authz.enforced": true,
  "authz.data_class": "finance.entries",
  "http.response.status_code": 403,
  ...verdictFacts("TAINT_BLOCKED"),
} as const satisfies SpanFacts;
const ours = () =>
  createTracing<"pep">({
    serviceName: "svc-pep",
    version: "1.2.3",
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    disclose: false,
    notice: () => {},
    onDropped: () => {},
    onOutage: () => {},
  });

/** The collector's last body, without what differs from span to span. */
const lastBody = () =>
  (collector.bodies.at(-1) ?? "")
    .replaceAll(/"(startTimeUnixNano|endTimeUnixNano)":"\d{19}"/g, '"$1":"now"')
    .replaceAll(/"spanId":"[0-9a-f]{16}"/g, '"spanId":"own"')
    .replaceAll(/"traceId":"[0-9a-f]{32}"/g, '"traceId":"own"');

test.each([
  ["a root", undefined, false],
  ["a child of the caller's", parent, false],
  ["a failed child", parent, true],
])("%s is exported as the SDK's own tracer exports it", async (_name, from, isFailed) => {
  const tracing = ours();
  const span = tracing.startSpan("pep.forward", from);
  span.set(facts);
  if (isFailed) span.fail(new RangeError("canary"));
  span.end();
  await tracing.shutdown(5000);
  const sent = lastBody();

  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({ "service.name": "svc-pep", "service.version": "1.2.3" }),
    ),
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${collector.url}/v1/traces` }))],
  });
  const context = from ? trace.setSpanContext(ROOT_CONTEXT, { ...from, isRemote: true }) : ROOT_CONTEXT;
  const theirs = provider
    .getTracer("@svc/telemetry", "1.2.3")
    .startSpan("pep.forward", { kind: SpanKind.SERVER }, context);
  theirs.setAttributes({ ...facts, ...(isFailed && { "error.type": "RangeError" }) });
  if (isFailed) theirs.setStatus({ code: 2 });
  theirs.end();
  await provider.shutdown();
  expect(sent).toBe(lastBody());
});

test("a span starts by the wall clock and lasts by the monotonic clock, also when the wall clock is set", async () => {
  const tracing = ours();
  const clock = vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_250);
  const elapsed = vi.spyOn(performance, "now").mockReturnValue(40);
  const span = tracing.startSpan("pep.forward");
  clock.mockReturnValue(1_600_000_000_000);
  elapsed.mockReturnValue(1_540);
  span.end();
  vi.restoreAllMocks();
  await tracing.shutdown(5000);
  expect(collector.bodies.at(-1)).toContain('"startTimeUnixNano":"1700000000250000000"');
  expect(collector.bodies.at(-1)).toContain('"endTimeUnixNano":"1700000001750000000"');
});

test.each([
  [0.000_001, "1700000000000000001"],
  [0.999_999_9, "1700000000001000000"],
  [61.25, "1700000000061250000"],
])("a span of %s ms ends that many nanoseconds after its start", async (durationMs, end) => {
  const tracing = ours();
  vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_000);
  const elapsed = vi.spyOn(performance, "now").mockReturnValue(0);
  const span = tracing.startSpan("pep.forward");
  elapsed.mockReturnValue(durationMs);
  span.end();
  vi.restoreAllMocks();
  await tracing.shutdown(5000);
  expect(collector.spans()[0]?.endTimeUnixNano).toBe(end);
});

test("attribute limits of the environment remove no fact: a deny keeps its reason", async () => {
  const limits = { OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "5", OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: "4" };
  Object.assign(process.env, limits);
  try {
    const tracing = ours();
    const span = tracing.startSpan("pep.forward");
    span.set(facts);
    span.end();
    await tracing.shutdown(5000);
  } finally {
    for (const name of Object.keys(limits)) delete process.env[name];
  }
  expect(attributesOf(collector.spans()[0]?.attributes ?? [])).toEqual(facts);
});

test("a span lasts as long as its work, also when the wall clock is set", async () => {
  const tracing = ours();
  const span = tracing.startSpan("pep.forward");
  const now = Date.now;
  Date.now = () => now() - 3_600_000;
  span.end();
  Date.now = now;
  await tracing.shutdown(5000);
  const [seen] = collector.spans();
  const lastedMs = Number(BigInt(seen?.endTimeUnixNano ?? 0) - BigInt(seen?.startTimeUnixNano ?? 0)) / 1e6;
  expect(lastedMs).toBeGreaterThanOrEqual(0);
  expect(lastedMs).toBeLessThan(60_000);
});
