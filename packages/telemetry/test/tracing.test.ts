import { context, propagation, trace } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { createIdentities, type SpanFacts, verdictFacts } from "../src/index.ts";
import { attributesOf } from "./support/collector.ts";
import { exportsOfTests } from "./support/tracing.ts";

const { collector, exported, exporting, lost, notices, tracingWith } = exportsOfTests();

const actionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
const sessionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags: 1 };

test("a span is exported with its facts and no other", async () => {
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
  expect(collector().resources()).toEqual([
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
  const tracing = tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector().url, OTEL_SERVICE_NAME: "authz-eu" });
  tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(collector().resources()[0]?.["service.name"]).toBe("authz-eu");
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
  const tracing = tracingWith(env(collector().url));
  tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(collector().paths).toEqual([path]);
});

test.each([
  ["no endpoint", () => ({})],
  ["the SDK disabled", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" })],
  ["no traces exporter", (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: "none" })],
])("with %s no span is exported, and spans still have ids and headers", async (_name, env) => {
  const tracing = tracingWith(env(collector().url));
  const span = tracing.startSpan("authz.decide", parent);
  span.set({ "authz.hop": 1 });
  expect(span.traceId).toBe(traceId);
  expect(span.headers()).toEqual({ traceparent: `00-${traceId}-${span.spanId}-01` });
  span.end();
  await tracing.shutdown(5000);
  expect([collector().paths, lost.spans]).toEqual([[], 0]);
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

test.each([
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", 1],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", 1],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 0],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "", 0],
])("%s=%s is reported where spans go out by another", (name, protocol, reports) => {
  tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector().url, [name]: protocol });
  expect(notices).toEqual(Array(reports).fill(expect.stringMatching(new RegExp(`http/json.*: ${name}$`))));
});

test("a failed span has the error's class, and neither message, stack nor cause", async () => {
  class GuardUnreachable extends Error {}
  const error = new GuardUnreachable("canary-message", { cause: new Error("canary-cause") });
  error.name = "canary-name";
  const seen = await exported((span) => span.fail(error));
  expect(seen.facts).toEqual({ "error.type": "GuardUnreachable" });
  expect(seen.status).toEqual({ code: 2 });
  expect(seen.events).toEqual([]);
  expect(collector().bodies.join()).not.toContain("canary");
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
])("a span has a deny reason exactly for a deny: %s", async (_name, steps, expected) => {
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

test.each(['a "quoted" name', "back\\slash", "line\r\nbreak\u0000", "}]},{", "naïve 日本 🙂"])(
  "the name %j is exported unchanged where disclosure is on",
  async (agent) => {
    const seen = await exported((span) => span.set(createIdentities("key", true)({ agent })), true);
    expect(seen.facts).toEqual({ "authz.agent": agent });
  },
);

test("names are not exported where disclosure is off", async () => {
  const seen = await exported((span) => span.set(createIdentities("key", true)(who)));
  expect(seen.facts).toEqual({});
});

test("an attribute that does not compile is not exported either", async () => {
  const seen = await exported((span) => {
    // @ts-expect-error an unknown attribute
    span.set({ "authz.jti": "canary" });
    // @ts-expect-error a name without disclosure
    span.set({ "authz.agent": "canary" });
    // @ts-expect-error a pseudonym that was not computed
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

test("a span ends once and accepts no later fact", async () => {
  await exported((span) => {
    span.set({ "authz.hop": 1 });
    span.end();
    span.set({ "authz.hop": 2 });
    span.fail(new Error("late"));
    span.end();
  });
  expect(
    collector()
      .spans()
      .map(({ attributes, status }) => [attributesOf(attributes), status]),
  ).toEqual([[{ "authz.hop": 1 }, { code: 0 }]]);
});

test("no global tracer or propagator is registered", () => {
  const before = [trace.getTracerProvider(), context.active(), propagation.fields()];
  exporting().startSpan("authz.decide").end();
  expect([trace.getTracerProvider(), context.active(), propagation.fields()]).toEqual(before);
  expect(trace.getTracer("other").startSpan("x").isRecording()).toBe(false);
});
