import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type App,
  createTelemetry,
  pseudonym,
  type TelemetryConfig,
  type TelemetryIo,
  TelemetryKeyMissing,
  verdictFacts,
} from "../src/index.ts";
import { attributesOf, type Collector, startCollector } from "./support/collector.ts";
import { samplesOf } from "./support/exposition.ts";

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

function start<A extends App>(app: A, config: Partial<TelemetryConfig> = {}, io: TelemetryIo = {}) {
  const lines: string[] = [];
  const notices: string[] = [];
  const telemetry = createTelemetry({
    app,
    version: "1.2.3",
    config: {
      key: "telemetry-key",
      dev: false,
      discloseIdentities: false,
      logLevel: "info",
      otel: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      ...config,
    },
    io: {
      logDestination: { write: (line) => lines.push(line) },
      writeNotice: (line) => notices.push(line),
      ...io,
    },
  });
  return {
    telemetry,
    notices,
    lines,
    records: () => lines.map((line) => JSON.parse(line)),
    samples: async () => samplesOf((await telemetry.render()).body),
  };
}

const actionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
const sessionId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-00`;

test("one event counts, logs and ends the span with the same facts", async () => {
  const { telemetry, records, samples } = start("pep");
  const span = telemetry.startSpan("pep.forward", { traceparent });
  telemetry.finish(span, {
    facts: {
      "authz.action_id": actionId,
      "authz.session_id": sessionId,
      "authz.hop": 2,
      "authz.pep.outcome": "blocked",
      "authz.pep.block_cause": "policy",
      ...verdictFacts("TAINT_BLOCKED"),
      ...telemetry.identify({ agent: "planner" }),
    },
    count: { svc_pep_calls_total: { outcome: "blocked" }, svc_pep_blocks_total: { cause: "policy" } },
    observe: { svc_pep_overhead_seconds: 0.001, svc_pep_stage_duration_seconds: { decide: 0.001 } },
    log: ["info", "call blocked by policy"],
  });
  await telemetry.shutdown();

  expect(collector.spans()).toMatchObject([{ name: "pep.forward", traceId, spanId: span.spanId, status: { code: 0 } }]);
  expect(attributesOf(collector.spans()[0]?.attributes ?? [])).toEqual({
    "authz.action_id": actionId,
    "authz.session_id": sessionId,
    "authz.hop": 2,
    "authz.pep.outcome": "blocked",
    "authz.pep.block_cause": "policy",
    "authz.outcome": "deny",
    "authz.deny_reason": "TAINT_BLOCKED",
    "authz.recoverable": false,
    "authz.agent_ref": pseudonym("telemetry-key", "agent", "planner"),
  });
  expect(records()).toEqual([
    {
      level: "info",
      time: expect.any(String),
      "authz.component": "pep",
      "authz.session_id": sessionId,
      "authz.action_id": actionId,
      "authz.hop": 2,
      trace_id: traceId,
      span_id: span.spanId,
      msg: "call blocked by policy",
    },
  ]);
  const counted = await samples();
  expect(counted.get('svc_pep_calls_total{outcome="blocked"}')).toBe(1);
  expect(counted.get('svc_pep_blocks_total{cause="policy"}')).toBe(1);
  expect(counted.get("svc_pep_overhead_seconds_count")).toBe(1);
  expect(counted.get('svc_pep_stage_duration_seconds_count{stage="decide"}')).toBe(1);
});

test("a fault fails the span and names its class in span and log, nothing more", async () => {
  class StoreUnreachable extends Error {}
  const { telemetry, lines, records } = start("control_plane");
  const span = telemetry.startSpan("authz.exchange", {});
  telemetry.finish(span, {
    facts: { "authz.result": "unavailable" },
    error: new StoreUnreachable("canary", { cause: new Error("canary") }),
    log: ["error", "exchange failed"],
  });
  await telemetry.shutdown();
  expect(records()).toMatchObject([{ level: "error", "error.type": "StoreUnreachable", span_id: span.spanId }]);
  expect(collector.spans()).toMatchObject([{ status: { code: 2 } }]);
  expect(lines.join() + collector.bodies.join()).not.toContain("canary");
});

test("an event without a span belongs to the active one, across awaited work", async () => {
  const { telemetry, records } = start("control_plane");
  const span = telemetry.startSpan("authz.decide", {});
  await telemetry.within(span, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    telemetry.emit({ count: { svc_taint_marks: 1 }, facts: { "authz.hop": 3 }, log: ["info", "taint marked"] });
    telemetry.emit({ log: ["info", "inside"] });
  });
  telemetry.emit({ log: ["info", "outside"] });
  expect(records().map(({ msg, span_id }) => [msg, span_id])).toEqual([
    ["taint marked", span.spanId],
    ["inside", span.spanId],
    ["outside", undefined],
  ]);
});

test("an app's events use only the metrics, spans and fields of the contract", () => {
  const { telemetry } = start("pep");
  // @ts-expect-error the control plane's span
  const span = telemetry.startSpan("authz.decide", {});
  // @ts-expect-error the control plane's counter
  telemetry.emit({ count: { svc_decisions: { outcome: "allow" } } });
  // @ts-expect-error a value that is not in the label's closed set
  telemetry.emit({ count: { svc_pep_blocks_total: { cause: "bad_mood" } } });
  // @ts-expect-error a metric that is not in the contract
  telemetry.emit({ count: { svc_pep_logins_total: 1 } });
  // @ts-expect-error an attribute that is not in the contract
  telemetry.finish(span, { facts: { "authz.target": "http:ledger/read" } });
  const agent: string = "planner";
  // @ts-expect-error a message that varies
  telemetry.finish(span, { log: ["info", `call of ${agent}`] });
  // @ts-expect-error an unknown level
  telemetry.emit({ log: ["verbose", "call forwarded"] });
  expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
});

const rejected = (cause: string) => `svc_trace_context_rejected_total{cause="${cause}"}`;

test.each<[name: string, headers: Record<string, string | string[]>, causes: string[], parent: boolean]>([
  ["nothing", {}, ["absent"], false],
  ["a valid parent", { traceparent }, [], true],
  ["all-zero ids", { traceparent: `00-${"0".repeat(32)}-${"0".repeat(16)}-01` }, ["malformed"], false],
  ["version ff", { traceparent: traceparent.replace("00", "ff") }, ["malformed"], false],
  ["uppercase", { traceparent: traceparent.toUpperCase() }, ["malformed"], false],
  ["a repeated header", { traceparent: [traceparent, traceparent] }, ["malformed"], false],
  ["a tracestate of 10 kB", { traceparent, tracestate: `a=${"x".repeat(10_000)}` }, ["malformed"], false],
  ["baggage alone", { baggage: "user=alice" }, ["absent", "baggage_dropped"], false],
  ["a valid parent and baggage", { traceparent, baggage: "user=alice" }, ["baggage_dropped"], true],
  ["garbage and baggage", { traceparent: "x", baggage: "user=alice" }, ["malformed", "baggage_dropped"], false],
])(
  "inbound trace context with %s counts its causes and adopts a parent only where it is valid",
  async (_n, headers, causes, parent) => {
    const { telemetry, samples } = start("pep");
    const span = telemetry.startSpan("pep.forward", headers);
    expect(span.traceId === traceId).toBe(parent);
    const counted = await samples();
    for (const cause of ["malformed", "absent", "baggage_dropped"]) {
      expect([cause, counted.get(rejected(cause))]).toEqual([cause, causes.includes(cause) ? 1 : 0]);
    }
  },
);

test("lost spans and lost log lines are counted", async () => {
  collector.status = 400;
  const broken = () => {
    throw new Error("disk full");
  };
  const { telemetry, samples } = start("control_plane", {}, { logDestination: { write: broken } });
  telemetry.finish(telemetry.startSpan("authz.decide", {}), { log: ["info", "decision recorded"] });
  await telemetry.shutdown();
  const counted = await samples();
  expect(counted.get('svc_telemetry_dropped_total{signal="span"}')).toBe(1);
  // The second is the WARNING that spans cannot be exported.
  expect(counted.get('svc_telemetry_dropped_total{signal="log"}')).toBe(2);
});

test("spans that cannot be exported are one WARNING until an export succeeds", async () => {
  collector.status = 400;
  const { telemetry, records } = start("pep", {
    otel: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_MAX_QUEUE_SIZE: "1" },
  });
  for (let n = 0; n < 2; n += 1) telemetry.startSpan("pep.forward", {}).end();
  await telemetry.shutdown(5000);
  expect(collector.bodies.length).toBe(2);
  expect(records()).toMatchObject([
    {
      level: "warn",
      msg: "spans cannot be exported and are lost until the collector takes them",
      "error.type": "OTLPExporterError",
    },
  ]);
});

test("outside SVC_DEV a missing key stops the start", () => {
  expect(() => start("pep", { key: undefined })).toThrow(TelemetryKeyMissing);
  expect(() => start("pep", { key: "" })).toThrow("SVC_TELEMETRY_KEY is required outside SVC_DEV");
});

test("in SVC_DEV a missing key is generated, with a WARNING that does not show it", () => {
  const { telemetry, records, notices } = start(
    "pep",
    { key: undefined, dev: true },
    { randomKey: () => "canary-key" },
  );
  expect(telemetry.identify({ agent: "planner" })).toMatchObject({
    "authz.agent_ref": pseudonym("canary-key", "agent", "planner"),
  });
  const message = "a setting is missing; a random telemetry key is used until the next start";
  expect(records()).toMatchObject([{ level: "warn", msg: message }]);
  expect(notices).toEqual([`WARNING: ${message}: SVC_TELEMETRY_KEY`]);
});

test("generated keys differ at each start", () => {
  const refs = [1, 2].map(() => start("pep", { key: undefined, dev: true }).telemetry.identify({ agent: "planner" }));
  expect(refs[0]).not.toEqual(refs[1]);
});

test("a notice is a static WARNING in the log; standard error names the settings, never text of another shape", () => {
  const { telemetry, records, notices } = start("pep");
  telemetry.notice("settings are not known and are ignored", ["SVC_PEP_CONFIGS", "SVC_X=canary\nvalue", "a b"]);
  telemetry.notice("traffic is not encrypted");
  expect(records()).toMatchObject([
    { level: "warn", msg: "settings are not known and are ignored" },
    { level: "warn", msg: "traffic is not encrypted" },
  ]);
  expect(notices).toEqual([
    "WARNING: settings are not known and are ignored: SVC_PEP_CONFIGS, (not a setting name), (not a setting name)",
    "WARNING: traffic is not encrypted",
  ]);
});

test.each([true, false])("disclosure %s shows in its gauge and in every identity", async (discloseIdentities) => {
  const { telemetry, samples } = start("control_plane", { discloseIdentities });
  expect((await samples()).get("svc_telemetry_identity_disclosure")).toBe(discloseIdentities ? 1 : 0);
  telemetry.finish(telemetry.startSpan("authz.decide", {}), { facts: telemetry.identify({ agent: "planner" }) });
  await telemetry.shutdown();
  const facts = attributesOf(collector.spans()[0]?.attributes ?? []);
  expect(facts).toEqual(
    discloseIdentities
      ? { "authz.agent": "planner" }
      : { "authz.agent_ref": pseudonym("telemetry-key", "agent", "planner") },
  );
});

test("a scrape covers all control-plane workers of a directory, and the last state is written at the end", async () => {
  const multiprocessDir = mkdtempSync(join(tmpdir(), "svc-metrics-"));
  const worker = (pid: number) => start("control_plane", { multiprocessDir, otel: {} }, { pid, now: () => 1 });
  const [one, other] = [worker(1), worker(2)];
  one.telemetry.emit({ count: { svc_decisions: { outcome: "deny" }, svc_denials: { reason: "TAINT_BLOCKED" } } });
  await one.telemetry.shutdown();
  expect((await other.samples()).get('svc_denials_total{reason="TAINT_BLOCKED"}')).toBe(1);
  await other.telemetry.shutdown();
  expect(readdirSync(multiprocessDir).sort()).toEqual(["1-1.json", "2-1.json"]);
  rmSync(multiprocessDir, { recursive: true });
});

test("for any input, series stay constant and no caller's text appears in metrics, logs or spans", async () => {
  const { telemetry, lines, samples } = start("pep");
  const series = [...(await samples()).keys()];
  const anyText = fc.string({ unit: "binary" }).map((text) => `canary${text}`);
  fc.assert(
    fc.property(anyText, anyText, fc.integer(), (text, other, status) => {
      const span = telemetry.startSpan("pep.forward", { traceparent: text, tracestate: other, baggage: text });
      const hostile = {
        "http.request.method": text,
        "http.response.status_code": status,
        "authz.session_id": text,
        "authz.action_id": other,
        "authz.data_class": `${text}?`,
        [text]: other,
      };
      telemetry.finish(span, {
        facts: { ...hostile, ...telemetry.identify({ agent: text, actChain: [text, other], taintSource: other }) },
        count: {
          svc_pep_calls_total: { outcome: text as "allowed" },
          svc_pep_blocks_total: { cause: "unresolvable_call" },
        },
        error: Object.assign(new Error(text), { name: other }),
        log: ["info", "call blocked"],
      });
    }),
    { numRuns: 1000 },
  );
  await telemetry.shutdown();
  expect([...(await samples()).keys()]).toEqual(series);
  const everything = lines.join("") + collector.bodies.join("") + (await telemetry.render()).body;
  expect(everything).not.toContain("canary");
  expect(lines).toHaveLength(1000);
  expect(collector.spans()).toHaveLength(1000);
});
