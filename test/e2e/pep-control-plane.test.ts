import type { Stand } from "@svc/test-conformance/stand";
import { type AnswerFault, type FaultProxy, freePort, ownBudgets, startFaultProxy, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callerOf, headersOf, openGuarded } from "./src/pep/guarded.ts";
import { arrivalsOf, expectEachRecorded } from "./src/pep/record.ts";
import { presentedTokens } from "./src/presented.ts";

let stand: Stand;
let line: FaultProxy;

beforeAll(async () => {
  const port = await freePort();
  line = await startFaultProxy(port);
  stand = await openGuarded({
    controlPlane: { PORT: String(port), SVC_ISSUER: "https://issuer.test" },
    enforcementPoint: { ...ownBudgets, SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${line.port}` },
  });
});
afterAll(async () => {
  await stand?.stop();
  await line?.stop();
});

async function agent() {
  const headers = await headersOf(stand);
  const { call, close } = callerOf(`${stand.enforcementPoint.url}/app`, headers);
  const read = async () => {
    const { status, blocked } = await call("/read");
    return blocked ?? status;
  };
  const passes = () => waitUntil("a call to pass", async () => (await read()) === 200);
  const arrivals = () => arrivalsOf(stand.upstream.requests, headers["x-svc-session"]);
  return { read, passes, close, session: headers["x-svc-session"], arrivals };
}

const unreachable = ["pdp_unreachable", "exchange_unreachable"];

/** The call in flight shows whether the control plane is dead or slow. */
const losses: [string, () => Promise<void> | void, () => Promise<void> | void][] = [
  ["silent", () => line.freeze(), () => line.thaw()],
  ["down", () => line.refuse(), () => line.accept()],
];

test.each(losses)(
  "while the control plane is %s every call is blocked and nothing goes upstream, and calls pass after recovery",
  async (_name, lose, regain) => {
    const { read, passes, close, session, arrivals } = await agent();
    await passes();
    await lose();
    const before = stand.upstream.received().length;
    // More calls than open the circuit breaker.
    for (let call = 0; call < 8; call++) expect(unreachable).toContain(await read());
    expect(stand.upstream.received().length).toBe(before);
    await regain();
    await passes();
    await expectEachRecorded(stand, session, arrivals());
    close();
  },
);

const ok = (body: string): AnswerFault => ({
  kind: "replaced",
  by: `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
});
const spoiled: [string, AnswerFault][] = [
  ["never arrives", { kind: "stalled", afterBytes: 0 }],
  ["stalls within a line", { kind: "stalled", afterBytes: 400 }],
  ["is lost in a reset", { kind: "reset", afterBytes: 0 }],
  ["is cut within a line", { kind: "reset", afterBytes: 400 }],
  ["has no line", ok("")],
  ["is garbled", ok('{"line":0,"authorize":{"status":\n')],
  ["has a line that holds nothing", ok('{"line":0}\n')],
  ["is of another line", ok('{"line":1}\n')],
  ["is no HTTP", { kind: "replaced", by: "\0\xff\r\n\r\n" }],
  ["is a gateway's error", { kind: "replaced", by: "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n" }],
];

test.each(spoiled)(
  "where the answer of hops in one trip %s, the call is blocked as perhaps spent, and its token is not presented again",
  async (_name, fault) => {
    const { read, passes, close, session, arrivals } = await agent();
    await passes();
    const [before, sentBefore] = [stand.upstream.received().length, line.sent().length];
    line.spoil("POST /v1/hops ", fault);
    expect(await read()).toBe("exchange_unreachable");
    expect(stand.upstream.received().length).toBe(before);
    line.heal();
    await passes();
    const { toSteps, toLines } = presentedTokens({ sent: () => line.sent().subarray(sentBefore) });
    const presented = [...toSteps, ...toLines];
    expect(toLines.length).toBeGreaterThan(0);
    expect(new Set(presented).size).toBe(presented.length);
    await expectEachRecorded(stand, session, arrivals());
    close();
  },
);

test("repeated resets of its connections fail calls, but no call is delivered twice or unrecorded", async () => {
  const { read, passes, close, session, arrivals } = await agent();
  await passes();
  const severing = setInterval(() => line.sever(), 10);
  const seen = new Map<string | number, number>();
  const lost = () => [...seen].reduce((sum, [outcome, count]) => sum + (outcome === 200 ? 0 : count), 0);
  await waitUntil("calls to be lost", async () => {
    for (const outcome of await Promise.all([read(), read(), read(), read()]))
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    return lost() > 20;
  });
  clearInterval(severing);
  // A token whose renewal and spares were lost ends the session; no other cause is allowed.
  for (const outcome of seen.keys()) expect([200, "unauthorized", ...unreachable]).toContain(outcome);
  expect(arrivals().length).toBeGreaterThanOrEqual(seen.get(200) ?? 0);
  await expectEachRecorded(stand, session, arrivals());
  close();
  const next = await agent();
  await next.passes();
  next.close();
});
