import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startSpanReceiver } from "@svc/test-conformance/span-receiver";
import type { Stand } from "@svc/test-conformance/stand";
import { type FaultProxy, freePort, startFaultProxy, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { headersOf, openGuarded, routes } from "./src/pep/guarded.ts";

const stateDir = join(mkdtempSync(join(tmpdir(), "svc-causes-")), "state");
let stand: Stand;
let line: FaultProxy;
const receiver = await startSpanReceiver();
beforeAll(async () => {
  const port = await freePort();
  line = await startFaultProxy(port);
  stand = await openGuarded({
    upstreams: (url) => [
      { name: "enforcing", url, routes: [...routes, denied] },
      { name: "observing", url, routes: [...routes, denied], mode: "observe" },
    ],
    controlPlane: { PORT: String(port), SVC_ISSUER: "https://issuer.test" },
    enforcementPoint: {
      ...receiver.env,
      SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${line.port}`,
      SVC_PEP_BIND_CAP_BYTES: "100",
      SVC_PEP_STATE_DIR: stateDir,
    },
  });
}, 60_000);
afterAll(async () => {
  await stand?.stop();
  await line?.stop();
  await receiver.stop();
  rmSync(dirname(stateDir), { recursive: true, force: true });
});

const denied = { methods: ["GET"], path: "/denied", target: "http:app/undeclared", data_class: "docs" };

interface Provoked {
  readonly path: string;
  readonly body?: string;
  readonly status: number;
  readonly anonymous?: true;
  /** Breaks the line to the control plane meanwhile, and answers what mends it. */
  readonly fault?: () => Promise<() => unknown>;
  /** Whether a decision stands behind it. */
  readonly isDecided?: true;
}

const page = "<html>maintenance</html>";
const unrecorded = JSON.stringify({ error: { code: "audit_unavailable", message: "not recorded" } });

/** Whatever the control plane answers there, something in between answers this. */
function answering(path: string, status: number, body: string) {
  const head = `HTTP/1.1 ${status} Replaced\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return async () => {
    line.spoil(`POST ${path}`, { kind: "replaced", by: `${head}\r\n\r\n${body}` });
    return line.heal;
  };
}

/** Renewed tokens must be kept before they are used, and here they cannot be. */
async function loseStateDir() {
  renameSync(stateDir, `${stateDir}.away`);
  writeFileSync(stateDir, "");
  return () => {
    rmSync(stateDir);
    renameSync(`${stateDir}.away`, stateDir);
  };
}

const provoked: Readonly<Record<string, Provoked>> = {
  policy: { path: "/denied", status: 403, isDecided: true },
  unauthorized: { path: "/read", status: 401, anonymous: true },
  unresolvable_call: { path: "/nowhere", status: 404 },
  body_too_large: { path: "/write", body: `{"a":"${"x".repeat(200)}"}`, status: 413, isDecided: true },
  unbindable: { path: "/write", body: '{"a":1,"a":2}', status: 422, isDecided: true },
  other: { path: "/read", status: 500, fault: loseStateDir },
  pdp_unreachable: { path: "/read", status: 503, fault: () => line.refuse().then(() => line.accept) },
  audit_unavailable: { path: "/read", status: 503, fault: answering("/v1/authorize", 503, unrecorded) },
  exchange_unreachable: {
    path: "/read",
    status: 503,
    isDecided: true,
    fault: answering("/v1/token/exchange", 200, page),
  },
  mint_unreachable: {
    path: "/write",
    body: '{"a":1}',
    status: 503,
    isDecided: true,
    fault: answering("/v1/token/transaction", 200, page),
  },
};

const counters = async (cause: string) => ({
  blocks: await stand.metric(`svc_pep_blocks_total{cause="${cause}"}`),
  blocked: await stand.metric('svc_pep_calls_total{outcome="blocked"}'),
  wouldBlock: await stand.metric('svc_pep_calls_total{outcome="observed_would_block"}'),
});

/** One call that is to be blocked, and all that was told of it. */
async function provoke(upstream: string, { path, body, anonymous, fault }: Provoked, cause: string) {
  const headers = { ...(anonymous ? {} : await headersOf(stand)), "content-type": "application/json" };
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const before = await counters(cause);
  const mend = await fault?.();
  const response = await fetch(`${stand.enforcementPoint.url}/${upstream}${path}`, {
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
    span: spanOf()?.attributes,
    deltas: {
      blocks: after.blocks - before.blocks,
      blocked: after.blocked - before.blocked,
      wouldBlock: after.wouldBlock - before.wouldBlock,
    },
  };
}

const blockedOnce = { blocks: 1, blocked: 1, wouldBlock: 0 };

describe.each(["enforcing", "observing"])("what a block tells, of an upstream that is %s", (upstream) => {
  // A recorded deny is forwarded there; the test below holds that.
  const isBlocked = ([cause]: [string, Provoked]) => upstream === "enforcing" || cause !== "policy";

  test.each(Object.entries(provoked).filter(isBlocked))("%s", async (cause, call) => {
    const { response, text, span, deltas } = await provoke(upstream, call, cause);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([call.status, cause]);
    const { error, details } = JSON.parse(text);
    expect(error).toEqual({ code: cause, message: expect.any(String) });
    expect(details.action_id).toEqual(call.isDecided ? expect.any(String) : null);
    expect(details.deny_reason).toBe(cause === "policy" ? "TARGET_NOT_DECLARED" : null);
    expect(deltas).toEqual(blockedOnce);
    expect(span).toMatchObject({ "authz.pep.outcome": "blocked", "authz.pep.block_cause": cause });
    expect(span?.["authz.action_id"]).toBe(call.isDecided ? details.action_id : undefined);
  });
});

test("a deny that observe mode forwards says so in the counter and the span alone", async () => {
  const { response, text, span, deltas } = await provoke("observing", provoked.policy as Provoked, "policy");
  expect([response.status, response.headers.get("x-svc-blocked"), text]).toEqual([200, null, "done"]);
  expect(deltas).toEqual({ blocks: 0, blocked: 0, wouldBlock: 1 });
  expect(span).toMatchObject({
    "authz.pep.mode": "observing",
    "authz.pep.outcome": "observed_would_block",
    "authz.enforced": false,
    "authz.deny_reason": "TARGET_NOT_DECLARED",
  });
});
