import { context, propagation, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createIdentities, type Span, type SpanFacts, type TracingEnvironment, verdictFacts } from "../src/index.ts";
import { createTracing } from "../src/tracing.ts";
import { attributesOf, type Collector, startCollector } from "./support/collector.ts";

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

const notices: string[] = [];
let dropped = 0;
beforeEach(() => {
  notices.length = 0;
  dropped = 0;
});

const tracingWith = (env: TracingEnvironment, disclose = false) =>
  createTracing<"control_plane">({
    serviceName: "svc-control-plane",
    version: "1.2.3",
    env,
    disclose,
    notice: (message, names = []) => notices.push(`${message}: ${names.join()}`),
    onDropped: (spans) => {
      dropped += spans;
    },
  });
const exporting = (disclose = false) => tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, disclose);

const actionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
const sessionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags: 1 };

/** Runs one span through a real export and gives what the collector saw. */
async function exported(work: (span: Span) => void, disclose = false) {
  const tracing = exporting(disclose);
  const span = tracing.startSpan("authz.decide");
  work(span);
  span.end();
  await tracing.shutdown(5000);
  const [seen] = collector.spans();
  if (seen === undefined) throw new Error("no span arrived");
  return { ...seen, facts: attributesOf(seen.attributes) };
}

test("a span arrives with its facts and nothing else", async () => {
  const seen = await exported((span) => {
    span.set({ "authz.session_id": sessionId, "authz.hop": 2, "authz.enforced": true });
    span.set({ "authz.action_id": actionId, "authz.data_class": "finance.entries", ...verdictFacts("TAINT_BLOCKED") });
    span.set({ "http.request.method": "POST", "http.response.status_code": 200, "authz.guarantee_level": null });
  });
  expect(seen.name).toBe("authz.decide");
  expect(seen.facts).toEqual({
    "authz.session_id": sessionId,
    "authz.hop": 2,
    "authz.enforced": true,
    "authz.action_id": actionId,
    "authz.data_class": "finance.entries",
    "authz.outcome": "deny",
    "authz.deny_reason": "TAINT_BLOCKED",
    "authz.recoverable": false,
    "http.request.method": "POST",
    "http.response.status_code": 200,
  });
  expect([seen.events, seen.links, seen.status]).toEqual([[], [], { code: 0 }]);
});

test("the resource is the service's name and version and the SDK's own attributes, no more", async () => {
  process.env.OTEL_RESOURCE_ATTRIBUTES = "host.name=secret-host,user=alice";
  try {
    await exported(() => {});
  } finally {
    delete process.env.OTEL_RESOURCE_ATTRIBUTES;
  }
  expect(collector.resources()).toEqual([
    {
      "service.name": "svc-control-plane",
      "service.version": "1.2.3",
      "telemetry.sdk.language": "nodejs",
      "telemetry.sdk.name": "opentelemetry",
      "telemetry.sdk.version": expect.any(String),
    },
  ]);
});

test("OTEL_SERVICE_NAME names the service", async () => {
  const tracing = tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: "authz-eu" });
  tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(collector.resources()[0]?.["service.name"]).toBe("authz-eu");
});

test.each([
  ["/v1/traces", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url })],
  ["/v1/traces", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/` })],
  ["/base/v1/traces", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/base` })],
  ["/mine", (url: string) => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/mine` })],
  [
    "/mine",
    (url: string) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/mine`,
    }),
  ],
])("spans are exported to %s by the endpoint settings", async (path, env) => {
  const tracing = tracingWith(env(collector.url));
  tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(collector.paths).toEqual([path]);
});

test.each([
  ["no endpoint", () => ({})],
  ["the SDK disabled", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" })],
  ["no traces exporter", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: "none" })],
])("with %s nothing is sent, and spans still have ids and headers", async (_name, env) => {
  const tracing = tracingWith(env(collector.url));
  const span = tracing.startSpan("authz.decide", parent);
  span.set({ "authz.hop": 1 });
  expect(span.traceId).toBe(traceId);
  expect(span.headers()).toEqual({ traceparent: `00-${traceId}-${span.spanId}-01` });
  span.end();
  await tracing.shutdown(5000);
  expect([collector.paths, dropped]).toEqual([[], 0]);
});

test.each(["localhost:4318", "not a url", "grpc://127.0.0.1:4317"])(
  "an endpoint that is not an HTTP URL (%s) is reported and costs only the traces",
  (url) => {
    const span = tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: url }).startSpan("authz.decide");
    expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(notices).toEqual([expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT")]);
    expect(notices.join()).not.toContain(url);
  },
);

test("a failed span names the error's class; message, stack and cause stay here", async () => {
  class GuardUnreachable extends Error {}
  const error = new GuardUnreachable("canary-message", { cause: new Error("canary-cause") });
  error.name = "canary-name";
  const seen = await exported((span) => span.fail(error));
  expect(seen.facts).toEqual({ "error.type": "GuardUnreachable" });
  expect(seen.status).toEqual({ code: 2 });
  expect(seen.events).toEqual([]);
  expect(collector.bodies.join()).not.toContain("canary");
});

test.each([
  ["a string", "canary"],
  ["undefined", undefined],
  ["an object", { name: "canary" }],
  [
    "a class with an odd name",
    new (class extends Error {
      static override readonly name = "canary name with spaces";
    })(),
  ],
])("a thrown value that is %s is recorded as Error alone", async (_name, thrown) => {
  const seen = await exported((span) => span.fail(thrown));
  expect(seen.facts).toEqual({ "error.type": "Error" });
});

test.each<[string, SpanFacts[], unknown]>([
  ["an allow", [verdictFacts(null)], { "authz.outcome": "allow" }],
  [
    "a deny after an allow",
    [verdictFacts(null), verdictFacts("SCOPE_NOT_CONSENTED")],
    { "authz.outcome": "deny", "authz.deny_reason": "SCOPE_NOT_CONSENTED", "authz.recoverable": true },
  ],
  [
    "an allow after a deny",
    [{ "authz.outcome": "deny", "authz.deny_reason": "TAINT_BLOCKED" }, { "authz.outcome": "allow" }],
    { "authz.outcome": "allow" },
  ],
  // @ts-expect-error a deny without its reason
  ["a deny without a reason", [{ "authz.outcome": "deny" }], {}],
  // @ts-expect-error a reason without a deny
  ["a reason without an outcome", [{ "authz.deny_reason": "TAINT_BLOCKED" }], {}],
  [
    "an allow with a reason",
    // @ts-expect-error an allow has no reason
    [{ "authz.outcome": "allow", "authz.deny_reason": "TAINT_BLOCKED" }],
    { "authz.outcome": "allow" },
  ],
  // @ts-expect-error an unknown reason
  ["a deny with an unknown reason", [{ "authz.outcome": "deny", "authz.deny_reason": "BAD_MOOD" }], {}],
])("a deny reason is there exactly for a deny: %s", async (_name, steps, expected) => {
  const seen = await exported((span) => {
    for (const facts of steps) span.set(facts);
  });
  expect(seen.facts).toEqual(expected);
});

const who = { agent: "planner", actChain: ["alice", "planner"], taintSource: "http:web/fetch" };

test("pseudonyms and names are never exported together", async () => {
  const [refs, names] = [createIdentities("key", false)(who), createIdentities("key", true)(who)];
  const seen = await exported((span) => {
    span.set(names);
    span.set(refs);
  }, true);
  expect(Object.keys(seen.facts).sort()).toEqual(["authz.act_chain_ref", "authz.agent_ref", "authz.taint_source_ref"]);
});

test("names are exported where disclosure is on", async () => {
  const seen = await exported((span) => span.set(createIdentities("key", true)(who)), true);
  expect(seen.facts).toEqual({
    "authz.agent": "planner",
    "authz.act_chain": '["alice","planner"]',
    "authz.taint_source": "http:web/fetch",
  });
});

test("names are not exported where disclosure is off", async () => {
  const seen = await exported((span) => span.set(createIdentities("key", true)(who)));
  expect(seen.facts).toEqual({});
});

test("what does not compile is not exported either", async () => {
  const seen = await exported((span) => {
    // @ts-expect-error an unknown attribute
    span.set({ "authz.jti": "canary" });
    // @ts-expect-error a name that nobody disclosed
    span.set({ "authz.agent": "canary" });
    // @ts-expect-error a pseudonym that nobody computed
    span.set({ "authz.agent_ref": "canary" });
    // @ts-expect-error an unknown value
    span.set({ "authz.taint": "canary" });
    // @ts-expect-error a message instead of a class name
    span.set({ "error.type": "canary: at line 1" });
    // @ts-expect-error not a number
    span.set({ "authz.hop": "canary" });
    span.set({ "authz.session_id": "canary-session", "authz.action_id": `${actionId} canary` });
    span.set({ "authz.data_class": "canary?query=1", "authz.hop": 0, "http.response.status_code": 42 });
    span.set({ "http.request.method": "CANARY" });
  });
  expect(seen.facts).toEqual({ "http.request.method": "_OTHER" });
});

test("a span ends once and takes nothing afterwards", async () => {
  await exported((span) => {
    span.set({ "authz.hop": 1 });
    span.end();
    span.set({ "authz.hop": 2 });
    span.fail(new Error("late"));
    span.end();
  });
  expect(collector.spans().map(({ attributes, status }) => [attributesOf(attributes), status])).toEqual([
    [{ "authz.hop": 1 }, { code: 0 }],
  ]);
});

test.each([0, 1])("a caller's span is the parent; its sampled flag (%s) decides nothing", async (traceFlags) => {
  const tracing = exporting();
  const span = tracing.startSpan("authz.exchange", { ...parent, traceFlags, tracestate: "vendor=canary" });
  expect(span.headers()).toEqual({ traceparent: `00-${traceId}-${span.spanId}-01`, tracestate: "vendor=canary" });
  span.end();
  await tracing.shutdown(5000);
  expect(collector.spans()).toMatchObject([{ traceId, parentSpanId: parent.spanId, spanId: span.spanId }]);
  expect(collector.bodies.join()).not.toContain("canary");
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
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: argument,
    });
    const span = tracing.startSpan("authz.decide", { ...parent, traceFlags });
    span.set({ "authz.hop": 1 });
    span.end();
    await tracing.shutdown(5000);
    expect(span.headers().traceparent.endsWith(sampled ? "-01" : "-00")).toBe(true);
    expect(collector.spans()).toHaveLength(sampled ? 1 : 0);
    expect(dropped).toBe(0);
  },
);

test.each([
  [{ OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER"],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, "OTEL_TRACES_SAMPLER_ARG"],
])("an unusable sampler setting is reported by name", (env, name) => {
  tracingWith(env);
  expect(notices).toEqual([expect.stringMatching(new RegExp(`: ${name}$`))]);
});

test("spans beyond a full queue are counted as lost, and the others arrive", async () => {
  const tracing = tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_MAX_QUEUE_SIZE: "10" });
  // Ten leave at once as a batch, ten wait, five find the queue full.
  for (let n = 0; n < 25; n += 1) tracing.startSpan("authz.decide").end();
  expect(dropped).toBe(5);
  await tracing.shutdown(5000);
  expect([dropped, collector.spans().length]).toEqual([5, 20]);
});

test("spans that the collector refuses are counted as lost", async () => {
  collector.status = 400;
  const tracing = exporting();
  for (let n = 0; n < 3; n += 1) tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(dropped).toBe(3);
});

test("a silent collector delays shutdown no longer than allowed, and its spans are counted as lost", async () => {
  collector.status = undefined;
  const tracing = exporting();
  for (let n = 0; n < 3; n += 1) tracing.startSpan("authz.decide").end();
  await tracing.shutdown(50);
  expect(dropped).toBe(3);
});

test("a span that ends after the shutdown is counted as lost", async () => {
  const tracing = exporting();
  const span = tracing.startSpan("authz.decide");
  await tracing.shutdown(5000);
  span.end();
  expect([dropped, collector.spans()]).toEqual([1, []]);
});

test("nothing is registered globally", () => {
  const before = [trace.getTracerProvider(), context.active(), propagation.fields()];
  exporting().startSpan("authz.decide").end();
  expect([trace.getTracerProvider(), context.active(), propagation.fields()]).toEqual(before);
  expect(trace.getTracer("other").startSpan("x").isRecording()).toBe(false);
});
