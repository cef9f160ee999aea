import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { constants } from "node:os";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Listening, listen } from "../src/listen.ts";

let listening: Listening;
/** Requests at `/held` wait for it. */
let release: () => void;
let received: string[];
const sockets: Socket[] = [];

beforeEach(async () => {
  const held = Promise.withResolvers<void>();
  release = held.resolve;
  received = [];
  const server = createServer(async (request, response) => {
    received.push(request.url ?? "");
    if (request.url === "/held") await held.promise;
    response.end("served");
  });
  server.on("upgrade", (_request, socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  listening = await listen(server, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  await listening.drain(0);
});

async function connection() {
  const socket = connect(listening.port, "127.0.0.1").setEncoding("utf8");
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
  const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 20_000, interval: 5 });
  return {
    send: (path: string, header = "") => socket.write(`GET ${path} HTTP/1.1\r\nHost: host\r\n${header}\r\n`),
    served: () => until(() => text.endsWith("served") || !isOpen),
    upgraded: () => until(() => text.includes(" 101 ")),
    closed: () => until(() => !isOpen),
    isOpen: () => isOpen,
    text: () => text,
  };
}

/** A new connection without a request, and one that is kept after a response. */
async function connections() {
  const fresh = await connection();
  // The server accepts in order, so a response on a later connection shows that this one was accepted.
  const kept = await connection();
  kept.send("/before");
  await kept.served();
  return { fresh, kept };
}

const heldRequest = () => vi.waitUntil(() => received.includes("/held"), { timeout: 20_000, interval: 5 });

const isServedAndClosed = /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*?connection: close\r\n[\s\S]*served$/i;

describe("while draining", () => {
  test("a connection that was accepted before gets a response to its first request", async () => {
    const { fresh } = await connections();
    listening.closeAfterResponses();
    const drained = listening.drain(20_000);
    fresh.send("/first");
    await fresh.served();
    expect(fresh.text()).toMatch(isServedAndClosed);
    await drained;
  });

  test("a request sent meanwhile on a kept connection gets a response, and the connection is closed", async () => {
    const { kept } = await connections();
    listening.closeAfterResponses();
    const drained = listening.drain(20_000);
    kept.send("/second");
    await kept.closed();
    expect(kept.text().split("served")).toHaveLength(3);
    expect(kept.text()).toMatch(/connection: close/i);
    await drained;
  });

  test("a call in flight finishes, and idle connections are closed before", async () => {
    const { fresh, kept } = await connections();
    kept.send("/held");
    await heldRequest();
    const drained = listening.drain(60_000);
    await fresh.closed();
    expect(kept.isOpen()).toBe(true);
    release();
    await drained;
    expect(kept.text().split("served")).toHaveLength(3);
  });

  test("calls and upgraded connections that do not finish are closed at the deadline", async () => {
    const { fresh, kept } = await connections();
    fresh.send("/socket", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    kept.send("/held");
    await Promise.all([fresh.upgraded(), heldRequest()]);
    await listening.drain(20);
    await Promise.all([fresh.closed(), kept.closed()]);
    expect(kept.text().split("served")).toHaveLength(2);
  });

  test("no connection is accepted", async () => {
    const { kept } = await connections();
    kept.send("/held");
    await heldRequest();
    const drained = listening.drain(60_000);
    await expect(connection()).rejects.toThrow(/ECONNREFUSED/);
    release();
    await drained;
  });
});

test("after closeAfterResponses connections are still accepted, and each is closed with its response", async () => {
  const { kept } = await connections();
  listening.closeAfterResponses();
  kept.send("/last");
  await kept.closed();
  expect(kept.text().split("served")).toHaveLength(3);
  const another = await connection();
  another.send("/another");
  await another.closed();
  expect(another.text()).toMatch(isServedAndClosed);
});

describe("the unspecified address", () => {
  const anywhere = async () => {
    const everywhere = await listen(
      createServer((_request, response) => void response.end("served")),
      { host: "::", port: 0 },
    );
    onTestFinished(() => everywhere.drain(0));
    return everywhere;
  };
  const textAt = async (host: string, port: number) => (await fetch(`http://${host}:${port}`)).text();

  test("serves both families", async () => {
    const { host, port } = await anywhere();
    expect(host).toBe("[::]");
    for (const address of ["127.0.0.1", "[::1]"]) expect(await textAt(address, port)).toBe("served");
  });

  test("serves IPv4 alone on a machine without IPv6", async () => {
    // What the system call answers there.
    const { TCP } = (process as unknown as { binding(name: string): { TCP: { prototype: object } } }).binding(
      "tcp_wrap",
    );
    const { bind6 } = TCP.prototype as { bind6: unknown };
    Object.assign(TCP.prototype, { bind6: () => -errnoOfNoSuchFamily });
    onTestFinished(() => void Object.assign(TCP.prototype, { bind6 }));
    const { host, port } = await anywhere();
    expect(host).toBe("0.0.0.0");
    expect(await textAt("127.0.0.1", port)).toBe("served");
  });
});

const { EAFNOSUPPORT: errnoOfNoSuchFamily } = constants.errno;
