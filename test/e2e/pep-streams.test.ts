import type { ServerResponse } from "node:http";
import { type ReceivedSpan, startSpanReceiver } from "@svc/test-conformance/span-receiver";
import { plain, type Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventStream } from "./src/pep/event-stream.ts";
import { type Hurried, startHurried } from "./src/pep/frequent-decisions.ts";
import { headersOf, openGuarded } from "./src/pep/guarded.ts";
import { type DecisionRow, decisionsOf } from "./src/pep/record.ts";

let stand: Stand;
let pep: Hurried;
const receiver = await startSpanReceiver();
const ended: ServerResponse[] = [];

/** A numbered event every few milliseconds, while a client reads. */
function count(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let event = 0;
  const ticking = setInterval(() => response.write(`data: ${event++}\n\n`), 10);
  response.once("close", () => {
    clearInterval(ticking);
    ended.push(response);
  });
}

beforeAll(async () => {
  stand = await openGuarded();
  stand.upstream.answerWith((response) => (response.req.url === "/any/stream" ? count(response) : plain(response)));
  pep = await startHurried(stand, { redecideMs: 200, otel: receiver.env });
});
afterAll(async () => {
  await pep?.stop();
  await stand?.stop();
  await receiver.stop();
});

const outcomes = async () => ({
  allowed: await pep.metric('svc_pep_calls_total{outcome="allowed"}'),
  blocked: await pep.metric('svc_pep_calls_total{outcome="blocked"}'),
});

/** A new agent that reads the stream, and the record of its session. */
async function listen() {
  const headers = await headersOf(stand);
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const stream = await eventStream(`${pep.url}/app/any/stream`, { ...headers, traceparent });
  const session = headers["x-svc-session"];
  return {
    headers,
    session,
    stream,
    decisions: (): Promise<DecisionRow[]> => decisionsOf(stand, session),
    spans: (): readonly ReceivedSpan[] =>
      receiver.spans.filter((span) => span.traceId === traceId && span.name === "pep.forward"),
  };
}

const numbersIn = (text: string): number[] =>
  [...text.matchAll(/^data: (\d+)\n\n/gm)].map(([, number]) => Number(number));

describe("a long-lived event stream", () => {
  test("is decided again at intervals: each decision is recorded, with one call, one spend and no lost event", async () => {
    const before = await outcomes();
    const { session, stream, decisions, spans } = await listen();
    expect(stream.status).toBe(200);
    await waitUntil("ten decisions", async () => (await decisions()).length >= 10);
    const rows = await decisions();
    expect(new Set(rows.map(({ decision, enforced, target }) => `${decision} ${enforced} ${target}`))).toEqual(
      new Set(["allow true http:app/any"]),
    );
    expect(rows.filter(({ spent_at }) => spent_at !== null)).toHaveLength(1);
    const numbers = numbersIn(stream.text());
    expect(numbers.length).toBeGreaterThan(100);
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(await outcomes()).toEqual({ ...before, allowed: before.allowed + 1 });
    expect(stand.upstream.requests.filter(({ rawHeaders }) => rawHeaders.includes(session))).toHaveLength(1);
    await waitUntil("its span", () => spans().length > 0);
    expect(spans().map(({ attributes }) => attributes)).toMatchObject([
      { "authz.pep.outcome": "allowed", "http.response.status_code": 200, "authz.action_id": rows.at(-1)?.action_id },
    ]);
    stream.leave();
  });

  test.each<[string, string, (session: string) => Promise<{ status: number }>]>([
    ["its session is revoked", "SESSION_REVOKED", (id) => stand.api.call("POST", `/v1/sessions/${id}/revoke`, admin())],
    ["its target is blocked", "TARGET_BLOCKED", () => stand.api.call("PUT", `/v1/blocks/tool/${ref}`, because())],
  ])("is aborted when %s: the deny is recorded, and no second call is counted", async (_name, reason, end) => {
    const { headers, stream, decisions, spans } = await listen();
    await waitUntil("a second decision", async () => (await decisions()).length >= 2);
    const before = await outcomes();
    const open = ended.length;
    expect((await end(headers["x-svc-session"])).status).toBe(200);
    expect(await stream.ended).toBe("aborted");
    await waitUntil("the upstream's side to be closed", () => ended.length > open);
    const [newest, ...earlier] = await decisions();
    expect(newest).toMatchObject({ decision: "deny", deny_reason: reason, enforced: true, spent_at: null });
    expect(earlier.every(({ decision }) => decision === "allow")).toBe(true);
    expect(await outcomes()).toEqual(before);
    await waitUntil("its span", () => spans().length > 0);
    expect(spans().map(({ attributes }) => attributes["authz.pep.outcome"])).toEqual(["allowed"]);
    const next = await fetch(`${pep.url}/app/any/stream`, { headers });
    expect([next.status, next.headers.get("x-svc-blocked")]).toEqual([403, "policy"]);
    expect(await outcomes()).toEqual({ ...before, blocked: before.blocked + 1 });
  });
});

const ref = encodeURIComponent("http:app/any");
const admin = () => ({ bearer: stand.api.tokens.admin });
const because = () => ({ ...admin(), body: { reason: "hostile" } });
