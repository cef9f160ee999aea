import { expect, test, vi } from "vitest";
import { createOneTripUse } from "../src/one-trip.ts";
import { at, authorize, cut, exchange, hang, mint, oneTrip, type Reply, reply } from "./support/answers.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];

/** Asks for one trip, before a control plane that serves it unless told otherwise. */
async function setup({ isServed = true, stepMs = 250 } = {}) {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "ledger", url: upstream.url, routes }],
    settings: { SVC_PEP_ONE_TRIP: "true" },
    limits: { stepMs, hopMs: 2.5 * stepMs },
  });
  const { controlPlane, url } = running;
  controlPlane.servesOneTrip = isServed;
  controlPlane.policies.set("http:ledger/read", {});
  controlPlane.policies.set("http:ledger/write", { privileged: true });
  const headers = await running.session();
  const called = async (path: "read" | "write") => {
    const post = path === "write" && { method: "POST", body: '{"amount":1}' };
    const response = await fetch(`${url}/ledger/${path}`, { headers, ...post });
    await response.arrayBuffer();
    return response.headers.get("x-svc-blocked") ?? response.status;
  };
  const asked = () => [oneTrip, authorize, exchange, mint].map(controlPlane.countOf);
  return { ...running, upstream, called, asked };
}

test("a call that needs no body to be seen takes one trip, and goes out with its token", async () => {
  const { called, asked, upstream, metric } = await setup();
  expect(await called("read")).toBe(200);
  expect(asked()).toEqual([1, 0, 0, 0]);
  expect(upstream.received[0]?.headers.authorization).toMatch(/^Bearer ey/);
  for (const stage of ["decide", "exchange"])
    expect(await metric(`svc_pep_stage_duration_seconds_count{stage="${stage}"}`)).toBe(1);
});

test("a privileged call's trip brings the decision alone, and what is bound goes the ordinary way", async () => {
  const { called, asked, upstream } = await setup();
  expect(await called("write")).toBe(200);
  expect(asked()).toEqual([1, 0, 1, 1]);
  expect(upstream.received[0]?.headers["txn-token"]).toMatch(/^ey/);
});

test("a call that is denied in one trip leaves its token to the next", async () => {
  const { called, asked, controlPlane } = await setup();
  controlPlane.policies.set("http:ledger/read", { denyReason: "TARGET_BLOCKED" });
  for (let call = 0; call < 20; call++) expect(await called("read")).toBe("policy");
  controlPlane.policies.set("http:ledger/read", {});
  expect(await called("read")).toBe(200);
  expect(asked()).toEqual([21, 0, 0, 0]);
  expect(controlPlane.countOf("/v1/token/renew")).toBe(1);
});

test("where it is not served calls take two, ask for one no more for a while, and the log says so once", async () => {
  const { called, asked, logs } = await setup({ isServed: false });
  expect(await Promise.all([called("read"), called("write")])).toEqual([200, 200]);
  for (let call = 0; call < 3; call++) expect(await called("read")).toBe(200);
  const [trips = 0, ...ordinary] = asked();
  expect([trips <= 2, ...ordinary]).toEqual([true, 5, 5, 1]);
  expect(logs.filter(({ msg }) => String(msg).includes("one trip")).map(({ level }) => level)).toEqual(["warn"]);
});

test("a minute after it was not served one call asks again", () => {
  let nowMs = 0;
  const told = vi.fn();
  const use = createOneTripUse(() => nowMs, told);
  expect(use.isWorthAsking()).toBe(true);
  use.unserved();
  nowMs = 59_999;
  expect(use.isWorthAsking()).toBe(false);
  nowMs = 60_000;
  expect(use.isWorthAsking()).toBe(true);
  expect(told).toHaveBeenCalledTimes(1);
});

const envelope = (code: string) => JSON.stringify({ error: { code, message: "x" } });
const half: Reply = (response) => void response.writeHead(200, { "content-length": 900 }).write('{"decision":{"');

test.each<[string, string, Reply]>([
  ["hangs", "pdp_unreachable", hang],
  ["cuts the connection", "pdp_unreachable", cut],
  ["stops in the middle of its answer", "pdp_unreachable", half],
  ["answers a page", "pdp_unreachable", reply(200, "<html>login</html>", "text/html")],
  ["fails", "pdp_unreachable", reply(500, envelope("internal"))],
  ["asks for patience", "pdp_unreachable", reply(429, envelope("rate_limited"))],
  ["cannot record", "audit_unavailable", reply(503, envelope("audit_unavailable"))],
  ["knows no such bearer", "unauthorized", reply(401, envelope("unauthorized"))],
])("a control plane that %s is %s: asked once, no second way tried, no upstream byte", async (_how, cause, answer) => {
  const { called, asked, upstream, controlPlane } = await setup();
  controlPlane.override = at(oneTrip, answer);
  expect(await called("read")).toBe(cause);
  expect(asked()).toEqual([1, 0, 0, 0]);
  expect(upstream.received).toHaveLength(0);
});

test("the token of a trip whose answer was lost is never presented again", async () => {
  const { called, controlPlane } = await setup();
  controlPlane.override = at(oneTrip, cut);
  for (let call = 0; call < 3; call++) expect(await called("read")).toBe("pdp_unreachable");
  controlPlane.override = undefined;
  expect(await called("read")).toBe(200);
  const presented = controlPlane.asked
    .filter(({ path }) => path === oneTrip)
    .map(({ headers: { authorization } }) => authorization);
  expect(new Set(presented).size).toBe(4);
});

test("a trip may take as long as both its steps", async () => {
  const { called, controlPlane } = await setup({ stepMs: 400 });
  let isSlow = true;
  controlPlane.override = ({ path }, response) => {
    if (path !== oneTrip || !isSlow) return undefined;
    isSlow = false;
    // One step's time is over when it answers; a trip's is not.
    setTimeout(() => reply(503, envelope("audit_unavailable"))(response), 500);
    return true;
  };
  expect(await called("read")).toBe("audit_unavailable");
});
