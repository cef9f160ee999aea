import { createTelemetry, type Telemetry, verdictFacts } from "@svc/telemetry";
import { quantile } from "./measure/statistics.ts";

/** The telemetry of one call through the enforcement point, at a given level. */
export interface TelemetryCost {
  /** Microseconds of latency, with its share of serializing batches. */
  readonly callMicros: number;
  /** Microseconds of processor time, with deferred work: sending spans, garbage collection. */
  readonly wholeMicros: number;
}

export const amounts = ["counters", "and log line", "and span"] as const;
export type Amount = (typeof amounts)[number];

const uuid = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
const inbound = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };

/** A pep.forward span of 16 attributes, its log line, and the counters and histograms of a call. */
function oneCall(telemetry: Telemetry<"pep">): void {
  const span = telemetry.startSpan("pep.forward", inbound);
  telemetry.metrics.observe("svc_pep_stage_duration_seconds", { stage: "decide" }, 0.002);
  telemetry.metrics.observe("svc_pep_stage_duration_seconds", { stage: "exchange" }, 0.002);
  telemetry.finish(span, {
    facts: {
      "authz.pep.mode": "enforcing",
      "authz.pep.outcome": "allowed",
      "http.request.method": "GET",
      "http.response.status_code": 200,
      ...verdictFacts(null),
      ...telemetry.identify({ agent: "planner", actChain: ["ada", "planner"], taintSource: "http:web/fetch" }),
      "authz.action_id": uuid,
      "authz.session_id": uuid,
      "authz.hop": 2,
      "authz.enforced": true,
      "authz.target_kind": "tool",
      "authz.data_class": "finance.entries",
      "authz.privileged": false,
      "authz.taint": "trusted_internal",
    },
    count: { svc_pep_calls_total: { outcome: "allowed" } },
    observe: { svc_pep_overhead_seconds: 0.004, svc_pep_stage_duration_seconds: { upstream: 0.001 } },
    log: ["info", "call forwarded"],
  });
}

/** @param collector receives the spans */
export function telemetryOf(amount: Amount, collector: string): Telemetry<"pep"> {
  return createTelemetry({
    app: "pep",
    version: "0.0.0",
    config: {
      key: "telemetry-key-of-the-benchmark",
      dev: false,
      discloseIdentities: false,
      logLevel: amount === "counters" ? "fatal" : "info",
      otel: amount === "and span" ? { OTEL_EXPORTER_OTLP_ENDPOINT: collector } : {},
    },
    // Whole lines, discarded: a reader's cost is not ours.
    io: { logDestination: { write: () => {} } },
  });
}

/** The span processor's batch size, smaller than its queue, so that no span is lost. */
const callsAtOnce = 512;

export async function measureEvents(telemetry: Telemetry<"pep">, calls: number): Promise<TelemetryCost> {
  const batchMillis: number[] = [];
  const before = process.cpuUsage();
  for (let done = 0; done < calls; done += callsAtOnce) {
    const started = performance.now();
    for (let call = 0; call < callsAtOnce; call++) oneCall(telemetry);
    batchMillis.push(performance.now() - started);
    // Deferred work runs here.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const { user, system } = process.cpuUsage(before);
  // The fastest tenth, since other processes run on this machine too.
  const undisturbedMillis = quantile(
    batchMillis.sort((a, b) => a - b),
    0.1,
  );
  return { callMicros: (undisturbedMillis * 1000) / callsAtOnce, wholeMicros: (user + system) / calls };
}
