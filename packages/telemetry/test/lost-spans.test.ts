import { expect, onTestFinished, test, vi } from "vitest";
import { exportsOfTests } from "./support/tracing.ts";

const { collector, exporting, lost, tracingWith } = exportsOfTests();

test("spans beyond a full queue are counted as lost, and the others are exported", async () => {
  const tracing = tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: collector().url, OTEL_BSP_MAX_QUEUE_SIZE: "10" });
  // Ten leave at once as a batch, ten wait, five find the queue full.
  for (let n = 0; n < 25; n += 1) tracing.startSpan("authz.decide").end();
  expect(lost.spans).toBe(5);
  await tracing.shutdown(5000);
  expect([lost.spans, collector().spans().length]).toEqual([5, 20]);
});

test("spans that the collector refuses are counted as lost", async () => {
  collector().status = 400;
  const tracing = exporting();
  for (let n = 0; n < 3; n += 1) tracing.startSpan("authz.decide").end();
  await tracing.shutdown(5000);
  expect(lost.spans).toBe(3);
});

test("a collector that does not respond delays shutdown for a limited time, and its spans are counted as lost", async () => {
  collector().status = undefined;
  const tracing = exporting();
  for (let n = 0; n < 3; n += 1) tracing.startSpan("authz.decide").end();
  await tracing.shutdown(50);
  expect(lost.spans).toBe(3);
});

test("a span that ends after the shutdown is counted as lost", async () => {
  const tracing = exporting();
  const span = tracing.startSpan("authz.decide");
  await tracing.shutdown(5000);
  span.end();
  expect([lost.spans, collector().spans()]).toEqual([1, []]);
});

test("requests that are under way at once have their own spans, and no span arrives twice", async () => {
  vi.stubEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "3");
  onTestFinished(() => void vi.unstubAllEnvs());
  const tracing = exporting();
  const ended: string[] = [];
  const endSome = (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const span = tracing.startSpan("authz.decide");
      ended.push(span.spanId);
      span.end();
    }
  };
  endSome(3);
  // Its memory is used again.
  await vi.waitUntil(() => collector().spans().length === 3);
  endSome(60);
  await tracing.shutdown(5000);
  const arrived = collector()
    .spans()
    .map(({ spanId }) => spanId);
  expect(arrived.sort()).toEqual(ended.sort());
});
