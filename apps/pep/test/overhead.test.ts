import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { authorize, exchange, mint } from "./support/answers.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

/** Long beside what else a call takes on a busy machine. */
const slowMs = 3_000;
const slow = slowMs / 1000;
const routes = [{ methods: ["POST"], path: "/any", target: "http:app/any", data_class: "docs" }];

async function setup(answerMs = 0) {
  const upstream = await startedUpstream(async (_request, response, { body }) => {
    await body.catch(() => {});
    await delay(answerMs);
    response.end("done");
  });
  const running = await startedPep({
    upstreams: [
      { name: "app", url: upstream.url, routes },
      { name: "chat", url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs" },
    ],
    limits: { bodyWaitMs: 20 },
  });
  const { policies } = running.controlPlane;
  policies.set("http:app/any", { privileged: true });
  policies.set("mcp:chat", {});
  const session = await running.session();
  const open = (path: string, headers: object = {}): ClientRequest =>
    httpRequest(`${running.url}${path}`, { method: "POST", headers: { ...session, ...headers } });
  const sumOf = (stage: string) => running.metric(`svc_pep_stage_duration_seconds_sum{stage="${stage}"}`);
  return { ...running, upstream, open, sumOf, overhead: () => running.metric("svc_pep_overhead_seconds_sum") };
}

const responseTo = async (request: ClientRequest): Promise<IncomingMessage> => (await once(request, "response"))[0];

/** Sends both halves of a body, with a pause, and returns the seconds of the whole call. */
async function sendSlowly(request: ClientRequest, [first, second]: readonly [string, string]): Promise<number> {
  const startedMs = performance.now();
  request.write(first);
  await delay(slowMs);
  request.end(second);
  (await responseTo(request)).resume();
  return (performance.now() - startedMs) / 1000;
}

describe("svc_pep_overhead_seconds is what the enforcement point adds: not", () => {
  test.each([
    ["a slow upload that is read to be bound", "/app/any", {}, ['{"a":', "1}"]],
    [
      "a slow upload that names its target",
      "/chat",
      { "content-type": "application/json" },
      ['{"jsonrpc":"2.0",', '"id":1,"method":"ping"}'],
    ],
  ] as const)("%s", async (_name, path, headers, halves) => {
    const { open, overhead } = await setup();
    const took = await sendSlowly(open(path, headers), halves);
    expect(took).toBeGreaterThan(slow * 0.9);
    expect(await overhead()).toBeLessThan(took - slow / 2);
  });

  test("a slow upload of a call that is then denied", async () => {
    const { open, overhead, controlPlane } = await setup();
    const request = open("/app/any");
    controlPlane.override = ({ path }) => {
      if (path === exchange) controlPlane.policies.set("http:app/any", { denyReason: "TAINT_BLOCKED" });
      return undefined;
    };
    const took = await sendSlowly(request, ['{"a":', "1}"]);
    expect(await overhead()).toBeLessThan(took - slow / 2);
  });

  test("a slow upstream, which has its own stage", async () => {
    const { open, overhead, sumOf } = await setup(slowMs);
    const startedMs = performance.now();
    (await responseTo(open("/app/any").end("{}"))).resume();
    const took = (performance.now() - startedMs) / 1000;
    expect(await overhead()).toBeLessThan(took - slow / 2);
    const upstream = await sumOf("upstream");
    expect(upstream).toBeGreaterThan(slow * 0.9);
    expect(upstream).toBeLessThanOrEqual(took);
  });
});

describe("svc_pep_overhead_seconds counts", () => {
  test.each([
    ["decide", authorize],
    ["exchange", exchange],
    ["mint", mint],
  ])("a slow %s, which has its own stage", async (stage, slowPath) => {
    const { open, overhead, sumOf, controlPlane } = await setup();
    controlPlane.override = async ({ path }) => {
      if (path === slowPath) await delay(slowMs);
      return undefined;
    };
    const startedMs = performance.now();
    (await responseTo(open("/app/any").end("{}"))).resume();
    const took = (performance.now() - startedMs) / 1000;
    for (const seconds of [await overhead(), await sumOf(stage)]) {
      expect(seconds).toBeGreaterThan(slow * 0.9);
      expect(seconds).toBeLessThanOrEqual(took);
    }
    expect(await sumOf("upstream")).toBeLessThan(took - slow / 2);
  });

  test("a slow second decision before a body may end, which is no upstream time", async () => {
    const { open, overhead, sumOf, upstream, controlPlane } = await setup();
    controlPlane.policies.set("http:app/any", {});
    const request = open("/app/any");
    request.write("first,");
    request.write("second,");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    controlPlane.override = async () => {
      await delay(slowMs);
      return undefined;
    };
    const endedMs = performance.now();
    request.end("last");
    (await responseTo(request)).resume();
    expect(performance.now() - endedMs).toBeGreaterThan(slowMs * 0.9);
    expect(await overhead()).toBeGreaterThan(slow * 0.9);
    expect(await sumOf("upstream")).toBeLessThan((performance.now() - endedMs) / 1000);
  });
});
