import { spawnSync } from "node:child_process";
import { requires } from "@svc/test-support/requires";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createMetrics, type Emitter, emitters, metrics as table } from "../src/index.ts";
import { samplesOf, typesOf } from "./support/exposition.ts";

const bodyOf = async (metrics: { render(): Promise<{ body: string }> }) => (await metrics.render()).body;

// The names a scrape shows: counters of earlier phases carry the OpenMetrics suffix.
const families: Record<Emitter, string[]> = {
  control_plane: [
    "svc_audit_write_failures_total counter",
    "svc_chain_queries_total counter",
    "svc_chain_query_duration_seconds histogram",
    "svc_chain_writes_total counter",
    "svc_decisions_total counter",
    "svc_denials_total counter",
    "svc_enrollments_total counter",
    "svc_exchange_pop_failures_total counter",
    "svc_revocations_total counter",
    "svc_revoked_hop_refusals_total counter",
    "svc_taint_blocks_total counter",
    "svc_taint_marks_total counter",
    "svc_telemetry_dropped_total counter",
    "svc_telemetry_identity_disclosure gauge",
    "svc_trace_context_rejected_total counter",
    "svc_transaction_mints_total counter",
  ],
  pep: [
    "svc_pep_blocks_total counter",
    "svc_pep_calls_total counter",
    "svc_pep_info gauge",
    "svc_pep_overhead_seconds histogram",
    "svc_pep_stage_duration_seconds histogram",
    "svc_pep_up gauge",
    "svc_telemetry_dropped_total counter",
    "svc_telemetry_identity_disclosure gauge",
    "svc_trace_context_rejected_total counter",
  ],
  verifier: [
    "svc_admissions_total counter",
    "svc_identity_view_age_seconds gauge",
    "svc_transaction_rejections_total counter",
  ],
  drift: [
    "svc_drift_lost_events gauge",
    "svc_drift_runs_total counter",
    "svc_drift_undeclared_edges gauge",
    "svc_drift_unexercised_edges gauge",
  ],
};

test.each(emitters)("%s exposes exactly its families, and no default process metrics", async (emitter) => {
  const types = typesOf(await bodyOf(createMetrics(emitter, "1.2.3")));
  expect([...types].map(([name, type]) => `${name} ${type}`).sort()).toEqual(families[emitter]);
});

test.each(emitters)("%s has every series of its closed label sets at 0 from the start", async (emitter) => {
  const samples = samplesOf(await bodyOf(createMetrics(emitter, "1.2.3")));
  expect(new Set(samples.values())).toEqual(new Set([0]));
  if (emitter === "control_plane") {
    expect(samples.has('svc_denials_total{reason="TAINT_BLOCKED"}')).toBe(true);
    expect(samples.has('svc_exchange_pop_failures_total{cause="wrong_agent"}')).toBe(true);
  }
  if (emitter === "pep") {
    expect(samples.has('svc_pep_blocks_total{cause="other"}')).toBe(true);
    expect(samples.has('svc_pep_stage_duration_seconds_count{stage="upstream"}')).toBe(true);
  }
});

test("counters, histograms and gauges move by what was recorded", async () => {
  const metrics = createMetrics("pep", "1.2.3");
  metrics.inc("svc_pep_calls_total", { outcome: "allowed" });
  metrics.inc("svc_pep_calls_total", { outcome: "allowed" }, 2);
  metrics.observe("svc_pep_overhead_seconds", 0.0004);
  metrics.observe("svc_pep_stage_duration_seconds", { stage: "mint" }, 0.2);
  metrics.set("svc_pep_up", 1);
  metrics.observeEach({
    svc_pep_overhead_seconds: 0.5,
    svc_pep_stage_duration_seconds: { decide: 1, mint: undefined },
  });
  metrics.incEach({ svc_pep_blocks_total: { cause: "policy" }, svc_pep_calls_total: undefined });
  const samples = samplesOf(await bodyOf(metrics));
  expect(samples.get('svc_pep_calls_total{outcome="allowed"}')).toBe(3);
  expect(samples.get('svc_pep_blocks_total{cause="policy"}')).toBe(1);
  expect(samples.get("svc_pep_overhead_seconds_count")).toBe(2);
  expect(samples.get("svc_pep_overhead_seconds_sum")).toBeCloseTo(0.5004);
  expect(samples.get('svc_pep_overhead_seconds_bucket{le="0.0005"}')).toBe(1);
  expect(samples.get('svc_pep_stage_duration_seconds_count{stage="mint"}')).toBe(1);
  expect(samples.get('svc_pep_stage_duration_seconds_count{stage="decide"}')).toBe(1);
  expect(samples.get("svc_pep_up")).toBe(1);
});

test("plain counters increase by one, or by an amount", async () => {
  const metrics = createMetrics("control_plane", "1.2.3");
  metrics.inc("svc_taint_marks");
  metrics.inc("svc_taint_marks", 3);
  metrics.incEach({ svc_taint_marks: 2, svc_decisions: { outcome: "deny" } });
  const samples = samplesOf(await bodyOf(metrics));
  expect(samples.get("svc_taint_marks_total")).toBe(6);
  expect(samples.get('svc_decisions_total{outcome="deny"}')).toBe(1);
});

test("the info gauge shows the current mode and the running version", async () => {
  const metrics = createMetrics("pep", "1.2.3");
  const info = async () => [...samplesOf(await bodyOf(metrics))].filter(([name]) => name.startsWith("svc_pep_info"));
  metrics.set("svc_pep_info", { mode: "observing" });
  expect(await info()).toEqual([['svc_pep_info{mode="observing",version="1.2.3"}', 1]]);
  metrics.set("svc_pep_info", { mode: "enforcing" });
  expect(await info()).toEqual([['svc_pep_info{mode="enforcing",version="1.2.3"}', 1]]);
});

test("a label that does not compile is not recorded either", async () => {
  const metrics = createMetrics("control_plane", "1.2.3");
  const before = await bodyOf(metrics);
  // @ts-expect-error an unknown name
  metrics.inc("svc_logins");
  // @ts-expect-error another app's
  metrics.inc("svc_pep_calls_total", { outcome: "allowed" });
  // @ts-expect-error an unknown label value
  metrics.inc("svc_decisions", { outcome: "maybe" });
  // @ts-expect-error a missing label
  metrics.inc("svc_decisions");
  // @ts-expect-error an unknown label
  metrics.inc("svc_decisions", { agent: "planner" });
  // @ts-expect-error a gauge is set, not counted
  metrics.set("svc_decisions", 4);
  // @ts-expect-error not a number
  metrics.inc("svc_taint_marks", "two");
  metrics.inc("svc_taint_marks", -1);
  metrics.inc("svc_taint_marks", Number.NaN);
  metrics.observe("svc_chain_query_duration_seconds", Number.POSITIVE_INFINITY);
  expect(await bodyOf(metrics)).toBe(before);
});

test("an added label does not compile and is left out of the series", async () => {
  const metrics = createMetrics("control_plane", "1.2.3");
  // @ts-expect-error adding a label is a breaking change
  metrics.inc("svc_decisions", { outcome: "deny", agent: "planner" });
  expect(samplesOf(await bodyOf(metrics)).get('svc_decisions_total{outcome="deny"}')).toBe(1);
});

test("10,000 unknown values add no series", async () => {
  const metrics = createMetrics("pep", "1.2.3");
  const before = [...samplesOf(await bodyOf(metrics)).keys()];
  const names = Object.keys(table) as "svc_pep_calls_total"[];
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.dictionary(fc.string(), fc.string()),
      fc.string(),
      (name, labels, value) => {
        metrics.inc(name, { ...labels, outcome: value as "allowed" });
        metrics.incEach({ svc_pep_blocks_total: { cause: value as "other" } });
        metrics.observeEach({ svc_pep_stage_duration_seconds: { [value]: 1 } });
      },
    ),
    { numRuns: 10_000 },
  );
  expect([...samplesOf(await bodyOf(metrics)).keys()]).toEqual(before);
});

test("a negative difference of two clock readings does not lower a sum", async () => {
  const metrics = createMetrics("pep", "1.2.3");
  metrics.observe("svc_pep_overhead_seconds", 0.25);
  metrics.observe("svc_pep_overhead_seconds", -1e-6);
  expect(samplesOf(await bodyOf(metrics)).get("svc_pep_overhead_seconds_sum")).toBe(0.25);
});

test("two registries in one process do not share a series", async () => {
  const [one, other] = [createMetrics("pep", "1"), createMetrics("pep", "1")];
  one.set("svc_pep_up", 1);
  expect(samplesOf(await bodyOf(other)).get("svc_pep_up")).toBe(0);
});

test("the scrape is Prometheus text format", async () => {
  expect((await createMetrics("pep", "1").render()).contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
});

requires("promtool").test.each(emitters)("promtool accepts the metrics of %s", async (emitter) => {
  const input = await bodyOf(createMetrics(emitter, "1.2.3"));
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});
