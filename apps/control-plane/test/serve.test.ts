import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { waitUntil } from "@svc/test-support";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { drainTimes } from "../src/start/drain-times.ts";
import { type Serving, serve } from "../src/start/serve.ts";

let serving: Serving;
/** Requests at `/held` wait for it. */
let release: () => void;
let arrived: string[];
const sockets: Socket[] = [];

beforeEach(async () => {
  const held = Promise.withResolvers<void>();
  release = held.resolve;
  arrived = [];
  const settings = { host: "127.0.0.1", port: 0, tls: undefined, onBadCertificate: () => {} };
  serving = await serve(settings, async () => async (request) => {
    const { pathname } = new URL(request.url);
    arrived.push(pathname);
    if (pathname === "/held") await held.promise;
    return new Response("served");
  });
});
afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  await serving.drain(0);
});

async function connection() {
  const socket = connect(Number(new URL(serving.url).port), "127.0.0.1").setEncoding("utf8");
  sockets.push(socket);
  let text = "";
  let isOpen = true;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  socket.once("close", () => {
    isOpen = false;
  });
  await once(socket, "connect");
  return {
    ask: (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: plane\r\n\r\n`),
    answered: () => waitUntil("an answer or the end", async () => text.endsWith("served") || !isOpen),
    closed: () => waitUntil("the end", async () => !isOpen),
    isOpen: () => isOpen,
    text: () => text,
  };
}

const accepted = async () => {
  const fresh = await connection();
  // The server takes connections in their order, so one that was answered later tells that this one was taken.
  const later = await connection();
  later.ask("/after");
  await later.answered();
  return { fresh, kept: later };
};

const isServedAndClosed = /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*?connection: close\r\n[\s\S]*served$/i;

describe("while draining", () => {
  test("a new connection that was accepted before is still answered its first request", async () => {
    const { fresh } = await accepted();
    const drained = serving.drain(10_000);
    fresh.ask("/first");
    await fresh.answered();
    expect(fresh.text()).toMatch(isServedAndClosed);
    await drained;
  });

  test("a request that crosses on a kept connection is answered, and the connection then closed", async () => {
    const { kept } = await accepted();
    const drained = serving.drain(10_000);
    kept.ask("/second");
    await kept.closed();
    expect(kept.text().split("served")).toHaveLength(3);
    expect(kept.text()).toMatch(/connection: close/i);
    await drained;
  });

  test("what is in flight finishes, and no idle connection holds it up", async () => {
    const { fresh, kept } = await accepted();
    kept.ask("/held");
    await waitUntil("the request", async () => arrived.includes("/held"));
    const drained = serving.drain(60_000);
    await fresh.closed();
    expect(kept.isOpen()).toBe(true);
    release();
    await drained;
    await kept.answered();
    expect(kept.text().split("served")).toHaveLength(3);
  });

  test("what does not finish is cut off at the deadline", async () => {
    const { kept } = await accepted();
    kept.ask("/held");
    await waitUntil("the request", async () => arrived.includes("/held"));
    await serving.drain(20);
    await kept.closed();
    expect(kept.text().split("served")).toHaveLength(2);
  });

  test("nobody new is accepted", async () => {
    const { kept } = await accepted();
    kept.ask("/held");
    await waitUntil("the request", async () => arrived.includes("/held"));
    const drained = serving.drain(60_000);
    await expect(connection()).rejects.toThrow(/ECONNREFUSED/);
    release();
    await drained;
  });
});

test("once it lets go, connections are still accepted, and each is closed with its answer", async () => {
  const { kept } = await accepted();
  serving.closeAfterResponses();
  kept.ask("/last");
  await kept.closed();
  expect(kept.text().split("served")).toHaveLength(3);
  const another = await connection();
  another.ask("/another");
  await another.closed();
  expect(another.text()).toMatch(isServedAndClosed);
});

test("clients are told to close what idles sooner than a drain closes it", async () => {
  const { kept } = await accepted();
  const [, seconds] = /^keep-alive: timeout=(\d+)\r$/im.exec(kept.text()) ?? [];
  expect(Number(seconds) * 1_000).toBeLessThanOrEqual(drainTimes.noticeMs);
});
