import { expect, test } from "vitest";
import { exportsOfTests } from "./support/tracing.ts";

const { collector, exporting, lost, notices, tracingWith } = exportsOfTests();

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags: 1 };

test.each([0, 1])("a caller's span is the parent; its sampled flag (%s) is ignored", async (traceFlags) => {
  const tracing = exporting();
  const span = tracing.startSpan("authz.exchange", { ...parent, traceFlags, tracestate: "vendor=canary" });
  expect(span.headers()).toEqual({ traceparent: `00-${traceId}-${span.spanId}-01`, tracestate: "vendor=canary" });
  span.end();
  await tracing.shutdown(5000);
  expect(collector().spans()).toMatchObject([{ traceId, parentSpanId: parent.spanId, spanId: span.spanId }]);
  expect(collector().bodies.join()).not.toContain("canary");
});

test.each<[sampler: string | undefined, argument: string, flags: number, sampled: boolean]>([
  [undefined, "", 0, true],
  ["", "", 0, true],
  ["always_on", "", 0, true],
  ["always_off", "", 1, false],
  ["traceidratio", "1", 0, true],
  ["traceidratio", "0", 1, false],
  ["traceidratio", "2", 0, true],
  ["parentbased_always_on", "", 0, false],
  ["parentbased_always_off", "", 1, true],
  ["parentbased_traceidratio", "0", 1, true],
  ["sometimes", "", 0, true],
])(
  "sampler %s with argument '%s' and a parent flagged %s: sampled is %s",
  async (sampler, argument, traceFlags, sampled) => {
    const tracing = tracingWith({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector().url,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: argument,
    });
    const span = tracing.startSpan("authz.decide", { ...parent, traceFlags });
    span.set({ "authz.hop": 1 });
    span.end();
    await tracing.shutdown(5000);
    expect(span.headers().traceparent.endsWith(sampled ? "-01" : "-00")).toBe(true);
    expect(collector().spans()).toHaveLength(sampled ? 1 : 0);
    expect(lost.spans).toBe(0);
  },
);

test.each([
  [{ OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER"],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, "OTEL_TRACES_SAMPLER_ARG"],
])("an unusable sampler setting is reported by name", (env, name) => {
  tracingWith(env);
  expect(notices).toEqual([expect.stringMatching(new RegExp(`: ${name}$`))]);
});
