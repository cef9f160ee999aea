import { ControlPlaneUnavailable, hopContext } from "@svc/client";
import { type AnswerFault, type EchoUpstream, type FaultProxy, startEchoUpstream, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientStand, clientOnLine, consent, errorOf, post, read, startClientStand } from "./src/client/stand.ts";
import { presentedToBeSpent, presentedTokens } from "./src/presented.ts";

let stand: ClientStand;
let elsewhere: EchoUpstream;

beforeAll(async () => {
  [stand, elsewhere] = await Promise.all([startClientStand(), startEchoUpstream()]);
});
afterAll(async () => {
  await Promise.all([stand?.stop(), elsewhere?.stop()]);
});

const http = (status: string, body: string, headers = "content-type: application/json"): AnswerFault => ({
  kind: "replaced",
  by: `HTTP/1.1 ${status}\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
});

/** The response's fault, the client's error, and its `timeout` where that ends the wait. */
const faults: [string, () => AnswerFault, Partial<ControlPlaneUnavailable>, number?][] = [
  ["is too late", () => ({ kind: "delayed", ms: 20_000 }), { fault: "timeout", status: null }, 2],
  ["never arrives", () => ({ kind: "stalled", afterBytes: 0 }), { fault: "timeout" }, 2],
  ["stalls in the body", () => ({ kind: "stalled", afterBytes: 150 }), { fault: "timeout" }, 2],
  ["is lost in a reset", () => ({ kind: "reset", afterBytes: 0 }), { fault: "unreachable", code: null }],
  ["is cut by a reset", () => ({ kind: "reset", afterBytes: 150 }), { fault: "unreachable" }],
  ["is a closed connection", () => ({ kind: "ended", afterBytes: 0 }), { fault: "unreachable" }],
  ["is cut by an end of the connection", () => ({ kind: "ended", afterBytes: 150 }), { fault: "unreachable" }],
  ["is no HTTP", () => ({ kind: "replaced", by: "\0\xff\r\n\r\nSSH-2.0\r\n\r\n" }), { fault: "unreachable" }],
  [
    "is a page of HTML",
    () => http("200 OK", "<html>sign in</html>", "content-type: text/html"),
    { fault: "malformed" },
  ],
  ["is truncated JSON", () => http("200 OK", '{"action_id": "0197'), { fault: "malformed" }],
  ["is empty", () => http("200 OK", ""), { fault: "malformed" }],
  [
    "is a redirect",
    () => http("307 Temporary Redirect", "", `location: ${elsewhere.url}/v1`),
    { fault: "status", status: 307 },
  ],
  ["is a gateway's error", () => http("502 Bad Gateway", "<html>", ""), { fault: "status", status: 502, code: null }],
];

const steps = ["/v1/token/renew", "/v1/authorize", "/v1/token/exchange", "/v1/token/transaction"] as const;

const postCall = (url: string) => ({ ...post, params: { amount: 5 }, request: { url: `${url}/entries` } });

/** The credentials of each request that reached the tool in one session. */
const arrivals = (sessionId: string): readonly string[] =>
  stand.tool.requests
    .filter(({ rawHeaders }) => rawHeaders.includes(sessionId))
    .flatMap(({ rawHeaders }) => rawHeaders.filter((value) => value.startsWith("Bearer ")));

const expectNothingPresentedTwice = (line: FaultProxy) => {
  const presented = presentedToBeSpent(line);
  expect(presented.length).toBeGreaterThan(0);
  expect(new Set(presented).size).toBe(presented.length);
};

describe.concurrent.each(steps)("where the response of %s", (path) => {
  test.each(faults)(
    "%s: ControlPlaneUnavailable, nothing reaches the tool, no token is presented twice",
    async (_name, fault, want, timeout = 10) => {
      await using on = await clientOnLine(stand, { timeout });
      const { svc, line } = on;
      line.spoil(`POST ${path} `, fault());
      const sessions: string[] = [];
      // On a busy machine another step may fail first: it is then repeated in a new session.
      const { session, error } = await waitUntil(`${path} to fail`, async () => {
        const session = await svc.consent(consent);
        sessions.push(session.sessionId);
        const error = await errorOf(svc.call(session.context(), postCall(stand.tool.url)));
        return error instanceof ControlPlaneUnavailable && error.path !== path ? false : { session, error };
      });
      expect(error).toBeInstanceOf(ControlPlaneUnavailable);
      expect(error).toMatchObject({ name: "ControlPlaneUnavailable", method: "POST", path, ...want });
      expect(String(error)).not.toContain(session.rootGrant);
      expect(sessions.flatMap(arrivals)).toEqual([]);
      expect(elsewhere.requests).toEqual([]);
      line.heal();
      // Only a lost renewal of the root grant needs a new consent.
      const again = path === "/v1/token/renew" ? await waitUntil("a consent", () => svc.consent(consent)) : session;
      const response = await waitUntil("a call to pass", () => svc.call(again.context(), postCall(stand.tool.url)));
      expect(response.status).toBe(200);
      const [arrived, ...more] = arrivals(again.sessionId);
      expect(more).toEqual([]);
      expect(hopContext(again.sessionId, arrived?.replace("Bearer ", "") ?? "")).toMatchObject({
        caller: post.target,
        hop: 2,
      });
      expectNothingPresentedTwice(line);
    },
  );
});

describe.concurrent("where the response of hops in one trip", () => {
  test.each(faults)(
    "%s: ControlPlaneUnavailable, nothing reaches the tool, the token is not presented again",
    async (_name, fault, want, timeout = 10) => {
      await using on = await clientOnLine(stand, { timeout });
      const { svc, line } = on;
      const session = await waitUntil("a consent", () => svc.consent(consent));
      const call = () => svc.call(session.context(), { ...read, request: { url: stand.tool.url } });
      await waitUntil("a call in one trip", async () => {
        await call();
        return line.sent().includes("POST /v1/hops ");
      });
      const [before, sentBefore] = [arrivals(session.sessionId).length, line.sent().length];
      line.spoil("POST /v1/hops ", fault());
      // An answer without this line is none.
      const lost = want.fault === "malformed" ? "unreachable" : want.fault;
      expect(await errorOf(call())).toMatchObject({
        ...{ name: "ControlPlaneUnavailable", method: "POST", path: "/v1/hops" },
        ...{ ...want, fault: lost },
      });
      expect(arrivals(session.sessionId)).toHaveLength(before);
      line.heal();
      await waitUntil("a call to pass", call);
      const { toSteps, toLines } = presentedTokens({ sent: () => line.sent().subarray(sentBefore) });
      const presented = [...toSteps, ...toLines];
      expect(presented.length).toBeGreaterThan(1);
      expect(new Set(presented).size).toBe(presented.length);
    },
  );
});

test.concurrent("for parallel calls over a connection that keeps breaking: every call completes or is refused, no token is presented twice", async () => {
  await using on = await clientOnLine(stand, { timeout: 10 });
  const { svc, line } = on;
  const session = await svc.consent(consent);
  const before = await svc.call(session.context(), { ...read, request: { url: stand.tool.url } });
  expect(before.status).toBe(200);
  line.spoil("POST /v1/", { kind: "reset", afterBytes: 60 });
  const refused = await Promise.all(
    Array.from({ length: 4 }, () =>
      errorOf(svc.call(session.context(), { ...read, request: { url: stand.tool.url } })),
    ),
  );
  for (const error of refused) expect(error).toMatchObject({ name: "ControlPlaneUnavailable", fault: "unreachable" });
  line.heal();
  const served = await Promise.all(
    Array.from({ length: 8 }, () => svc.call(session.context(), { ...read, request: { url: stand.tool.url } })),
  );
  expect(served.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(arrivals(session.sessionId)).toHaveLength(9);
  expect(new Set(arrivals(session.sessionId)).size).toBe(9);
  expectNothingPresentedTwice(line);
});
