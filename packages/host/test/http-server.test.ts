import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHttpServer } from "../src/http/http-server.ts";

// What is refused is tested over every listener in test/conformance/http.test.ts.

async function started(options: Parameters<typeof createHttpServer>[0] = {}) {
  const server = createHttpServer(options, { request: (_request, response) => void response.end("served") });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { server, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
}

test.each([undefined, 5_000])(
  "an idle connection is kept 30 s longer than %s announces, and 95 s",
  async (announced) => {
    const { server } = await started(announced === undefined ? {} : { keepAliveTimeout: announced });
    expect(server.keepAliveTimeout + server.keepAliveTimeoutBuffer).toBe(95_000);
    expect(server.keepAliveTimeoutBuffer).toBeGreaterThanOrEqual(30_000);
  },
);

test("an unread body is discarded for a bounded time after its answer", async () => {
  const { port } = await started();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  let sentBytes = 0;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write("POST / HTTP/1.1\r\nHost: host\r\nConnection: close\r\nContent-Length: 999999999\r\n\r\n");
  const sending = setInterval(() => {
    if (socket.writableLength > 0) return;
    sentBytes += 65_536;
    socket.write(Buffer.alloc(65_536));
  }, 1);
  await closed;
  clearInterval(sending);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*served/);
  expect(sentBytes).toBeGreaterThan(1_048_576);
  expect(sentBytes).toBeLessThan(20 * 1_048_576);
});

test("a connection whose body came after the answer serves the next request, and then closes as any other", async () => {
  const { port, server } = await started();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const answer = async (bytes: string) => {
    socket.write(bytes);
    return String((await once(socket, "data"))[0]);
  };
  const connections = () => promisify(server.getConnections.bind(server))();
  expect(await answer("POST / HTTP/1.1\r\nHost: host\r\nContent-Length: 1\r\n\r\n")).toContain("served");
  expect(await answer("1GET / HTTP/1.1\r\nHost: host\r\n\r\n")).toContain("served");
  await delay(100);
  expect(await answer("GET / HTTP/1.1\r\nHost: host\r\nConnection: close\r\n\r\n")).toContain("served");
  await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 5_000 });
});

test.each([
  ["Content-Length: 1048577", "close"],
  ["Transfer-Encoding: chunked", "close"],
  ["Content-Length: 1048576", "keep-alive"],
])("an answer before the end of a body with %s has Connection: %s", async (framing, connection) => {
  const { port } = await started();
  const socket = connect({ port, host: "127.0.0.1" });
  onTestFinished(() => void socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nHost: host\r\n${framing}\r\n\r\n`);
  const [head] = await once(socket, "data");
  expect(String(head)).toContain(`\r\nConnection: ${connection}\r\n`);
});
