import type { Dashboard } from "./dashboard.ts";
import { stat, timeseries } from "./panel.ts";

/** A collector that is scraped has an instance of its own, so only its places can be selected. */
const selected = 'cluster=~"$cluster", namespace=~"$namespace"';
const spans = (name: string, matchers: string) => `rate(traces_span_metrics_${name}{${matchers}, ${selected}}[5m])`;
const calls = (matchers: string) => spans("calls_total", matchers);

const controlPlane = 'service_name="svc-control-plane"';
const call = 'span_name="pep.forward"';
const failed = 'status_code="STATUS_CODE_ERROR"';
const bySpan = (vector: string) => `sum by (span_name) (${vector})`;
const p = (q: number, matchers: string, by = "le") =>
  `histogram_quantile(${q}, sum by (${by}) (${spans("duration_seconds_bucket", matchers)})) >= 0`;
const p99Of = (span: string) => p(0.99, `${controlPlane}, span_name="${span}"`);

export const spansDashboard: Dashboard = {
  uid: "svc-spans",
  title: "Agent authorization: latency and errors",
  description: "How long the control plane takes and how often it fails, by a collector's span metrics.",
  source: "traces_span_metrics_calls_total",
  narrowing: ["cluster", "namespace"],
  rows: {
    Now: [
      stat("Requests", "Decisions, exchanges and mints a second.", "ops", `sum(${calls(controlPlane)})`),
      stat(
        "Failed",
        "Share that ended without a result because a store or the service itself failed. A deny is a result.",
        { unit: "percentunit", yellow: 0.001, red: 0.01 },
        `sum(${calls(`${controlPlane}, ${failed}`)}) / (sum(${calls(controlPlane)}) > 0)`,
      ),
      stat("Decide, p99", "99 of 100 decisions took less, with their commit.", "s", p99Of("authz.decide")),
      stat("Exchange, p99", "99 of 100 exchanges took less: spend, commit, sign.", "s", p99Of("authz.exchange")),
      stat("Mint, p99", "99 of 100 transaction tokens took less.", "s", p99Of("authz.transaction.mint")),
      stat("Call, p99", "99 of 100 calls through enforcement points took less, with the upstream.", "s", p(0.99, call)),
    ],
    "Control plane": [
      timeseries("Duration, p50", "Half of the requests took less.", "s", {
        "{{span_name}}": p(0.5, controlPlane, "span_name, le"),
      }),
      timeseries(
        "Duration, p99",
        "A rise of all of them points to the database, one of exchanges to the cache store.",
        "s",
        {
          "{{span_name}}": p(0.99, controlPlane, "span_name, le"),
        },
      ),
      timeseries("Requests by kind", "Decisions, exchanges and mints; each is one span.", "ops", {
        "{{span_name}}": bySpan(calls(controlPlane)),
      }),
      timeseries("Failures by kind", "The service failed closed: nothing was allowed, issued or spent.", "ops", {
        "{{span_name}}": `${bySpan(calls(`${controlPlane}, ${failed}`))} or ${bySpan(calls(controlPlane))} * 0`,
      }),
    ],
    "Calls through enforcement points": [
      timeseries("Duration of a call", "The whole call, with the time of the upstream.", "s", {
        p50: p(0.5, call),
        p99: p(0.99, call),
      }),
      timeseries("Failed calls", "Calls that the guardrail itself could not decide, record or forward.", "ops", {
        failed: `sum(${calls(`${call}, ${failed}`)})`,
      }),
    ],
  },
  notes: `These figures come from spans, which \`deploy/compose/collector.yaml\` turns into metrics: send them there by
\`OTEL_EXPORTER_OTLP_ENDPOINT\`, and have Prometheus scrape the collector. Where you sample spans, rates are those of the
sample. Each figure is exact at the collector's buckets, and interpolated between them.`,
  alerts: [],
};
