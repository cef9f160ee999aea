import { traceContextCauses } from "@svc/telemetry";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HeaderList } from "./src/telemetry/ask.ts";
import { type Scrape, total } from "./src/telemetry/exposition.ts";
import { apps, type OneHop, openHop } from "./src/telemetry/one-hop.ts";

let hop: OneHop;
beforeAll(async () => {
  hop = await openHop();
});
afterAll(() => hop?.stop());

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const valid = `00-${traceId}-${spanId}-01`;
const parent = (value: string): HeaderList => ["traceparent", value];

type Case = readonly [name: string, headers: HeaderList, isAdopted: boolean, causes: readonly string[]];
const cases: readonly Case[] = [
  ["nothing", [], false, ["absent"]],
  ["a valid parent", parent(valid), true, []],
  ["a valid parent that is not sampled", parent(`00-${traceId}-${spanId}-00`), true, []],
  ["a longer parent of a later version", parent(`cc-${traceId}-${spanId}-01-later`), true, []],
  ["a valid parent and its state", [...parent(valid), "tracestate", "vendor=1"], true, []],
  ["an all-zero trace id", parent(`00-${"0".repeat(32)}-${spanId}-01`), false, ["malformed"]],
  ["an all-zero span id", parent(`00-${traceId}-${"0".repeat(16)}-01`), false, ["malformed"]],
  ["version ff", parent(`ff-${traceId}-${spanId}-01`), false, ["malformed"]],
  ["uppercase", parent(valid.toUpperCase()), false, ["malformed"]],
  ["a longer parent of version 00", parent(`${valid}-more`), false, ["malformed"]],
  ["a repeated header", [...parent(valid), ...parent(valid)], false, ["malformed"]],
  ["an empty header", parent(""), false, ["malformed"]],
  ["another text", parent("'; drop table decision"), false, ["malformed"]],
  ["10 kB of state", [...parent(valid), "tracestate", `a=${"x".repeat(10_000)}`], false, ["malformed"]],
  ["a valid parent and baggage", [...parent(valid), "baggage", "taint=no"], true, ["baggage_dropped"]],
  ["baggage alone", ["baggage", "taint=no"], false, ["absent", "baggage_dropped"]],
  ["garbage and baggage", [...parent("x"), "baggage", "taint=no"], false, ["malformed", "baggage_dropped"]],
];

const rejected = (scrape: Scrape) =>
  traceContextCauses.map((cause) => total(scrape, "svc_trace_context_rejected_total", { cause }));

describe.each(apps)("a request to the %s", (app) => {
  const name = app === "control plane" ? "authz.decide" : "pep.forward";

  test.each(cases)(
    "with %s: the parent is adopted or a new trace begins, the cause is counted, and the response is the same",
    async (_name, headers, isAdopted, causes) => {
      const { ask, scrape } = hop.ways[app];
      const [before, seenBefore] = [rejected(await scrape()), hop.receiver.spans.length];
      const { status, json, text } = await ask(headers);
      expect([status, json?.decision ?? text]).toEqual([200, app === "control plane" ? "allow" : "done"]);
      const after = rejected(await scrape());
      expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual(
        traceContextCauses.map((cause) => (causes.includes(cause) ? 1 : 0)),
      );
      const span = (await hop.traceOf(name, seenBefore)).find((one) => one.name === name);
      expect([span?.traceId === traceId, span?.parentSpanId]).toEqual([isAdopted, isAdopted ? spanId : undefined]);
      expect(span?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    },
  );
});

describe("through the enforcement point", () => {
  test.each([
    ["of the agent's", [...parent(valid), "tracestate", "vendor=1", "baggage", "user=ada"], "vendor=1"],
    ["of its own, where the agent's is malformed", [...parent("x"), "tracestate", "vendor=1"], undefined],
  ] as const)(
    "one trace %s continues at the control plane and the upstream, without baggage",
    async (_name, headers, state) => {
      const [seenBefore, asked] = [hop.receiver.spans.length, hop.stand.upstream.requests.length];
      expect((await hop.ways["enforcement point"].ask(headers)).status).toBe(200);
      const trace = () => hop.traceOf("pep.forward", seenBefore);
      await waitUntil("the spans of all three", async () => (await trace()).length === 3);
      const spans = await trace();
      const forward = spans.find(({ name }) => name === "pep.forward");
      expect(spans.map(({ name }) => name).sort()).toEqual(["authz.decide", "authz.exchange", "pep.forward"]);
      const asking = spans.filter((span) => span !== forward);
      expect(asking.map(({ parentSpanId }) => parentSpanId)).toEqual([forward?.spanId, forward?.spanId]);
      const { rawHeaders = [] } = hop.stand.upstream.requests[asked] ?? {};
      const sentAs = (header: string) =>
        rawHeaders[rawHeaders.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === header) + 1];
      expect(sentAs("traceparent")).toBe(`00-${forward?.traceId}-${forward?.spanId}-01`);
      expect(rawHeaders.includes("tracestate") ? sentAs("tracestate") : undefined).toBe(state);
      expect(rawHeaders.map((text) => text.toLowerCase())).not.toContain("baggage");
    },
  );
});
