import type { ServerResponse } from "node:http";
import { startEchoUpstream, waitUntil } from "@svc/test-support";
import { decodeJwt } from "jose";
import { afterAll, afterEach, expect, onTestFinished, test } from "vitest";
import { pushStreams } from "../src/background/push-streams.ts";
import { nextPush } from "../src/commands/signals/push-events.ts";
import { deliverSet } from "../src/discovery/deliver-set.ts";
import type { Json } from "./support.ts";
import { other, push, receiverHeader, sessionOf, startTransmitter } from "./transmitter-support.ts";

const { plane, sql, streams, create, endedSession, verified, deleteStreams, stop } = await startTransmitter();
afterEach(async () => void (await deleteStreams()));
afterAll(stop);

type Respond = (response: ServerResponse) => void;
type Behaviour = "take" | "cut" | number | { readonly err: string } | Respond;
async function startReceiver(...behaviours: Behaviour[]) {
  const taken: string[] = [];
  const server = await startEchoUpstream(({ url, body, rawHeaders }, response) => {
    const [behaviour = "take"] = behaviours.splice(0, 1);
    if (url !== "/events") return void response.writeHead(202).end();
    if (!rawHeaders.includes(receiverHeader)) return void response.writeHead(401).end();
    if (behaviour === "cut") return void response.socket?.destroy();
    if (typeof behaviour === "function") return behaviour(response);
    if (typeof behaviour === "object") return void response.writeHead(400).end(JSON.stringify(behaviour));
    if (typeof behaviour === "number") return void response.writeHead(behaviour, { location: "/elsewhere" }).end();
    taken.push(String(body));
    response.writeHead(202).end();
  });
  onTestFinished(server.stop);
  const delivery = { ...push, endpoint_url: `${server.url}/events`, authorization_header: receiverHeader };
  return { ...server, taken, delivery, sessions: () => taken.map((set) => sessionOf(decodeJwt(set) as Json)) };
}

/** What each process runs. */
function startPushing({ processes = 1, deadlineMs = 10_000 } = {}) {
  const faults: unknown[] = [];
  const deliver = deliverSet(plane.config.discoveryAllow, deadlineMs);
  for (let process = 0; process < processes; process += 1) {
    const next = () => nextPush({ ...plane.deps, deliver });
    const running = pushStreams({ nextPush: next, onFault: (error) => faults.push(error), everyMs: 20 });
    onTestFinished(running.close);
  }
  return faults;
}

/** One push of one process. False if no stream waits. */
async function pushOnce(deliver = deliverSet(plane.config.discoveryAllow)): Promise<boolean> {
  const push = await nextPush({ ...plane.deps, deliver });
  await push?.();
  return push !== undefined;
}

test("three processes deliver each event once and in order", async () => {
  const receiver = await startReceiver();
  await create({ delivery: receiver.delivery });
  const sessions = await Promise.all(Array.from({ length: 12 }, () => endedSession()));
  startPushing({ processes: 3 });
  const last = await endedSession();
  await waitUntil("the last", async () => receiver.sessions().includes(last));
  expect(receiver.sessions().toSorted()).toEqual([...sessions, last].sort());
  expect(receiver.sessions().at(-1)).toBe(last);
  const [request] = receiver.requests;
  expect(request?.rawHeaders).toContain("application/secevent+jwt");
  expect((await verified(receiver.taken[0] ?? "")).aud).toBe("gateway");
});

test.each<Behaviour>([500, 503, 401, 302, 307, "cut", { err: "invalid_key" }])(
  "a receiver that answers %j gets the event again, with the same identifier, and no other address gets it",
  async (behaviour) => {
    const receiver = await startReceiver(behaviour);
    await create({ delivery: receiver.delivery });
    const faults = startPushing();
    const session = await endedSession();
    await waitUntil("the second try", async () => receiver.taken.length > 0);
    expect(receiver.sessions()).toEqual([session]);
    expect(faults).toHaveLength(1);
    expect(receiver.requests.map(({ url }) => url)).toEqual(["/events", "/events"]);
    expect(new Set(receiver.requests.map(({ body }) => decodeJwt(String(body)).jti)).size).toBe(1);
  },
);

const slow: readonly [string, Respond][] = [
  ["answers after its deadline", (response) => void setTimeout(() => response.writeHead(202).end(), 500).unref()],
  ["hangs in its status line", ({ socket }) => void socket?.write("HTTP/1.1 202 Ac")],
  [
    "hangs in its refusal",
    (response) => void response.writeHead(400, { "content-length": 40 }).write('{"err":"invalid_request",'),
  ],
  ["sends its answer one byte at a time", sendByBytes],
];
test.each(slow)("a receiver that %s gets the event again, and the next one after it", async (_how, respond) => {
  const receiver = await startReceiver(respond);
  await create({ delivery: receiver.delivery });
  const sessions = [await endedSession(), await endedSession()];
  const faults = startPushing({ deadlineMs: 200 });
  await waitUntil("the deadline", async () => faults.length > 0);
  expect([receiver.taken, faults[0]]).toEqual([[], expect.objectContaining({ kind: "timeout" })]);
  await sql("update signal_stream set retry_at = now()");
  await waitUntil("both", async () => receiver.taken.length > 1);
  expect(receiver.sessions()).toEqual(sessions);
  const [first, again] = receiver.requests.map(({ body }) => decodeJwt(String(body)).jti);
  expect(again).toBe(first);
});

test("a receiver that hangs delays no other", async () => {
  const held = Promise.withResolvers<ServerResponse>();
  const hanging = await startReceiver(held.resolve);
  const prompt = await startReceiver();
  await create({ delivery: hanging.delivery });
  await streams("POST", { delivery: prompt.delivery }, { token: other });
  const faults = startPushing();
  const first = await endedSession();
  const response = await held.promise;
  await waitUntil("the other's event", async () => prompt.sessions().includes(first));
  const second = await endedSession();
  await waitUntil("the other's next event", async () => prompt.sessions().includes(second));
  expect([hanging.requests.length, faults]).toEqual([1, []]);
  response.writeHead(202).end();
  await waitUntil("its next event", async () => hanging.sessions().includes(second));
  expect(hanging.requests.length).toBe(2);
});

test("an event that a receiver refuses for good is not sent again, and the next one is", async () => {
  const receiver = await startReceiver({ err: "invalid_request" });
  await create({ delivery: receiver.delivery });
  await endedSession();
  const next = await endedSession();
  startPushing();
  await waitUntil("the next", async () => receiver.taken.length > 0);
  expect(receiver.sessions()).toEqual([next]);
});

test("what waited while no process ran is delivered, and what was delivered is not", async () => {
  const receiver = await startReceiver();
  await create({ delivery: receiver.delivery });
  const first = await endedSession();
  while (await pushOnce());
  const second = await endedSession();
  startPushing();
  await waitUntil("both", async () => receiver.taken.length > 1);
  expect(receiver.sessions()).toEqual([first, second]);
});

test("the lease of a process that died runs out", async () => {
  const receiver = await startReceiver();
  await create({ delivery: receiver.delivery });
  const session = await endedSession();
  const lost = await plane.deps.signalStreams.lease();
  expect(await pushOnce()).toBe(false);
  await sql("update signal_stream set leased_until = now() - interval '1 second'");
  startPushing();
  await waitUntil("the event", async () => receiver.sessions().includes(session));
  const noSuch = { eventId: "", atMs: 0, type: "", event: {} };
  expect(lost && (await plane.deps.signalStreams.settle(lost, () => true, noSuch))).toEqual([]);
});

test("an internal address is not reached", async () => {
  const receiver = await startReceiver();
  const port = new URL(receiver.url).port;
  await create({ delivery: { ...receiver.delivery, endpoint_url: `http://localhost:${port}/events` } });
  await endedSession();
  await expect(pushOnce(deliverSet([]))).rejects.toMatchObject({ kind: "address_refused" });
  expect(receiver.requests).toEqual([]);
});

/** An answer without an end, in time for no deadline. */
function sendByBytes({ socket }: ServerResponse): void {
  const answer = `HTTP/1.1 202 Accepted\r\nx-padding: ${"x".repeat(1_000)}`;
  let sent = 0;
  const timer = setInterval(() => socket?.write(answer[sent++] ?? "x"), 10);
  socket?.once("close", () => clearInterval(timer));
}
