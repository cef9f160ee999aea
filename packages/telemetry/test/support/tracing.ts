import { afterEach, beforeEach } from "vitest";
import type { Span, TracingEnvironment } from "../../src/index.ts";
import { createTracing } from "../../src/tracing.ts";
import { attributesOf, type Collector, startCollector } from "./collector.ts";

/** Exports the spans of each test of a file to a collector of its own. */
export function exportsOfTests() {
  let collector: Collector;
  const notices: string[] = [];
  const lost = { spans: 0 };
  beforeEach(async () => {
    notices.length = 0;
    lost.spans = 0;
    collector = await startCollector();
  });
  afterEach(() => collector.close());

  const tracingWith = (env: TracingEnvironment, disclose = false) =>
    createTracing<"control_plane">({
      serviceName: "svc-control-plane",
      version: "1.2.3",
      env,
      disclose,
      notice: (message, names = []) => notices.push(`${message}: ${names.join()}`),
      onDropped: (spans) => {
        lost.spans += spans;
      },
      onOutage: () => {},
    });
  const exporting = (disclose = false) => tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, disclose);

  /** Runs one span through a real export and returns what the collector received. */
  async function exported(work: (span: Span) => void, disclose = false) {
    const tracing = exporting(disclose);
    const span = tracing.startSpan("authz.decide");
    work(span);
    span.end();
    await tracing.shutdown(5000);
    const [seen] = collector.spans();
    if (seen === undefined) throw new Error("no span was exported");
    return { ...seen, facts: attributesOf(seen.attributes) };
  }

  return { collector: () => collector, notices, lost, tracingWith, exporting, exported };
}
