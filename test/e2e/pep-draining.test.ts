import type { ServerResponse } from "node:http";
import { plain, type Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventStream } from "./src/pep/event-stream.ts";
import { headersOf, openGuarded } from "./src/pep/guarded.ts";
import { arrivalsOf, expectEachRecorded } from "./src/pep/record.ts";
import { startBeside } from "./src/pep/second-enforcement-point.ts";

let stand: Stand;
let streams: ServerResponse[];
beforeAll(async () => {
  stand = await openGuarded();
  stand.upstream.answerWith((response) => {
    if (!response.req.url?.endsWith("/stream")) return plain(response);
    streams.push(response);
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
  });
});
afterAll(() => stand?.stop());

/** Its own enforcement point, with a new agent on a stream that stays open. */
async function withStream(graceSeconds: number) {
  streams = [];
  const pep = await startBeside(stand, { SVC_PEP_GRACE_SECONDS: String(graceSeconds) });
  onTestFinished(() => pep.kill());
  const headers = await headersOf(stand);
  const stream = await eventStream(`${pep.url}/app/any/stream`, headers);
  await waitUntil("the first event", () => stream.text() === "data: first\n\n");
  const isUnready = async () => (await fetch(`${pep.adminUrl}/__svc/readyz`)).status === 503;
  return { pep, headers, stream, becomesUnready: () => waitUntil("it to be unready", isUnready) };
}

describe("SIGTERM", () => {
  test("makes it unready, then stops new calls; an open stream ends normally, and it exits 0", async () => {
    const { pep, headers, stream, becomesUnready } = await withStream(4);
    pep.kill("SIGTERM");
    await becomesUnready();
    expect((await fetch(`${pep.adminUrl}/__svc/livez`)).status).toBe(200);
    const statuses = new Set<number>();
    // Each over its own connection: the question is whether one more is accepted.
    const isRefused = async () => {
      const sent = fetch(`${pep.url}/app/read`, { headers: { ...headers, connection: "close" } });
      const status = await sent.then((response) => response.status).catch(() => undefined);
      if (status !== undefined) statuses.add(status);
      return status === undefined;
    };
    await waitUntil("it to refuse calls", isRefused);
    expect(statuses).toEqual(new Set([200]));
    expect(pep.hasExited()).toBe(false);
    streams[0]?.end("data: last\n\n");
    expect(await stream.ended).toBe("cleanly");
    expect(stream.text()).toBe("data: first\n\ndata: last\n\n");
    expect(await pep.exited).toBe(0);
    const session = headers["x-svc-session"];
    await expectEachRecorded(stand, session, arrivalsOf(stand.upstream.requests, session));
  });

  test("cuts an endless stream on both sides after the grace period, and exits 0", async () => {
    const { pep, stream } = await withStream(1);
    pep.kill("SIGTERM");
    expect(await stream.ended).toBe("aborted");
    await waitUntil("the upstream's side to be closed", () => streams[0]?.destroyed === true);
    expect(await pep.exited).toBe(0);
  });
});

test.each([
  { name: "SIGINT", signals: ["SIGINT"], code: 0 },
  { name: "a second SIGTERM", signals: ["SIGTERM", "SIGTERM"], code: 1 },
  { name: "SIGINT after SIGTERM", signals: ["SIGTERM", "SIGINT"], code: 1 },
] as const)("$name ends it at once, also within an hour's grace period", async ({ signals: [first, second], code }) => {
  const { pep, stream, becomesUnready } = await withStream(3600);
  pep.kill(first);
  if (second) {
    await becomesUnready();
    expect(pep.hasExited()).toBe(false);
    pep.kill(second);
  }
  expect(await pep.exited).toBe(code);
  expect(await stream.ended).toBe("aborted");
  await waitUntil("the upstream's side to be closed", () => streams[0]?.destroyed === true);
});
