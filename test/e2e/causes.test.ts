import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { blockCauses } from "@svc/core";
import { startSpanReceiver } from "@svc/test-conformance/span-receiver";
import { budgets, freePort, requires, startFaultProxy, startOwnRedis, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { headersOf, openGuarded, routes } from "./src/pep/guarded.ts";
import { type Provoked, provoked, type Surroundings } from "./src/pep/provoked.ts";

const { describe, test } = requires("redis-server");

let around: Surroundings;
const stops: (() => unknown)[] = [];
const receiver = await startSpanReceiver();
const denied = { methods: ["GET"], path: "/denied", target: "http:app/undeclared", data_class: "docs" };
beforeAll(async () => {
  const port = await freePort();
  const [line, redis] = await Promise.all([startFaultProxy(port), startOwnRedis()]);
  const stateDir = join(mkdtempSync(join(tmpdir(), "svc-causes-")), "state");
  stops.push(redis.stop, line.stop, receiver.stop, () => rmSync(dirname(stateDir), { recursive: true, force: true }));
  const stand = await openGuarded({
    upstreams: (url) => [
      { name: "enforcing", url, routes: [...routes, denied] },
      { name: "observing", url, routes: [...routes, denied], mode: "observe" },
    ],
    // A peer that never responds uses these budgets up: the cache store, the lock on mints, the control plane.
    controlPlane: {
      PORT: String(port),
      SVC_ISSUER: "https://issuer.test",
      REDIS_URL: redis.url,
      ...budgets({ replayGuard: 3_000, lock: 1_000 }),
    },
    enforcementPoint: {
      ...receiver.env,
      ...budgets({ stepMs: 6_000, hopMs: 18_000 }),
      SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${line.port}`,
      SVC_PEP_BIND_CAP_BYTES: "100",
      SVC_PEP_STATE_DIR: stateDir,
    },
  });
  stops.unshift(stand.stop);
  around = { stand, line, redis, stateDir };
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

const counters = async (cause: string) => ({
  blocks: await around.stand.metric(`svc_pep_blocks_total{cause="${cause}"}`),
  blocked: await around.stand.metric('svc_pep_calls_total{outcome="blocked"}'),
  wouldBlock: await around.stand.metric('svc_pep_calls_total{outcome="observed_would_block"}'),
});

/** One blocked call, with its response, counters and span. */
async function provoke(upstream: string, { cause, path, body, isAnonymous, isWarm, fault }: Provoked) {
  const { stand } = around;
  const headers = { ...(isAnonymous ? {} : await headersOf(stand)), "content-type": "application/json" };
  const base = `${stand.enforcementPoint.url}/${upstream}`;
  if (isWarm) expect((await fetch(`${base}/read`, { headers })).status).toBe(200);
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const before = await counters(cause);
  const received = stand.upstream.received().length;
  const mend = await fault?.(around);
  const response = await fetch(`${base}${path}`, {
    headers: { ...headers, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    ...(body !== undefined && { method: "POST", body }),
  });
  const text = await response.text();
  await mend?.();
  const spanOf = () => receiver.spans.find((span) => span.traceId === traceId && span.name === "pep.forward");
  await waitUntil("the span", () => spanOf() !== undefined);
  const after = await counters(cause);
  return {
    response,
    text,
    bytesUpstream: stand.upstream.received().length - received,
    span: spanOf()?.attributes,
    deltas: {
      blocks: after.blocks - before.blocks,
      blocked: after.blocked - before.blocked,
      wouldBlock: after.wouldBlock - before.wouldBlock,
    },
  };
}

const forwarded: readonly string[] = ["policy", "unresolvable_call", "body_too_large", "unbindable"];
const blockedOnce = { blocks: 1, blocked: 1, wouldBlock: 0 };

test("every block cause occurs", () => {
  expect(new Set(provoked.map(({ cause }) => cause))).toEqual(new Set(blockCauses));
});

describe.each(["enforcing", "observing"])("a block at an upstream that is %s", (upstream) => {
  // Observe mode forwards the others, which the tests below cover.
  const blocks = provoked.filter(({ cause }) => upstream === "enforcing" || !forwarded.includes(cause));

  test.each(blocks)("is $cause for $by, in response, counters and span", async (call) => {
    const { cause } = call;
    const { response, text, bytesUpstream, span, deltas } = await provoke(upstream, call);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([call.status, cause]);
    const { error, details } = JSON.parse(text);
    expect(error).toEqual({ code: cause, message: expect.any(String) });
    expect(details.action_id).toEqual(call.isDecided ? expect.any(String) : null);
    expect(details.deny_reason).toBe(cause === "policy" ? "TARGET_NOT_DECLARED" : null);
    expect(bytesUpstream).toBe(0);
    expect(deltas).toEqual(blockedOnce);
    expect(span).toMatchObject({
      "authz.pep.outcome": "blocked",
      "authz.pep.block_cause": cause,
      "http.response.status_code": call.status,
    });
    expect(span?.["authz.action_id"]).toBe(call.isDecided ? details.action_id : undefined);
  });
});

test("a deny that observe mode forwards appears in the counter and the span alone", async () => {
  const [deny] = provoked.filter(({ cause }) => cause === "policy");
  if (!deny) throw new Error("no deny is provoked");
  const { response, text, span, deltas } = await provoke("observing", deny);
  expect([response.status, response.headers.get("x-svc-blocked"), text]).toEqual([200, null, "done"]);
  expect(deltas).toEqual({ blocks: 0, blocked: 0, wouldBlock: 1 });
  expect(span).toMatchObject({
    "authz.pep.mode": "observing",
    "authz.pep.outcome": "observed_would_block",
    "authz.enforced": false,
    "authz.deny_reason": "TARGET_NOT_DECLARED",
  });
});

describe("a call that observe mode forwards", () => {
  const others = provoked.filter(({ cause }) => cause !== "policy" && forwarded.includes(cause));

  test.each(others)("for $by appears as $cause in the counter and the span alone", async (call) => {
    const { response, text, bytesUpstream, span, deltas } = await provoke("observing", call);
    expect([response.status, response.headers.get("x-svc-blocked"), text]).toEqual([200, null, "done"]);
    expect(bytesUpstream).toBeGreaterThan(0);
    expect(deltas).toEqual({ blocks: 0, blocked: 0, wouldBlock: 1 });
    expect(span).toMatchObject({ "authz.pep.outcome": "observed_would_block", "authz.pep.block_cause": call.cause });
  });
});
