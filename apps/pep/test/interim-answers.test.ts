import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type RequestOptions } from "node:http";
import type { Duplex } from "node:stream";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET", "POST"], path: "/any", target: "http:files/any", data_class: "docs" },
  { methods: ["GET"], path: "/live", target: "http:files/any", data_class: "docs" },
];

type Answer = (socket: Duplex) => void;

/** An enforcement point before one server that answers every request by `answer`, as an HTTP and as an MCP upstream. */
async function setup(answer: Answer, limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream(({ socket }) => answer(socket));
  upstream.server.on("upgrade", (_request, socket: Duplex) => {
    socket.on("error", () => {});
    answer(socket);
  });
  const running = await startedPep({
    upstreams: [
      { name: "files", url: upstream.url, routes },
      { name: "tools", url: `${upstream.url}/mcp`, protocol: "mcp", data_class: "docs", filter_tool_lists: true },
    ],
    limits,
  });
  for (const target of ["http:files/any", "mcp:tools", "mcp:tools/read"]) running.controlPlane.policies.set(target, {});
  const headers = await running.session();
  const open = (path: string, options: RequestOptions = {}): ClientRequest =>
    httpRequest(`${running.url}${path}`, { ...options, headers: { ...headers, ...options.headers } });
  return { ...running, upstream, open };
}

const hint = (headers: string) => `HTTP/1.1 103 Early Hints\r\n${headers}\r\n`;

/** One after the other, as fast as they are read. */
const endless =
  (headers: string): Answer =>
  (socket) => {
    const next = () => void (socket.destroyed || socket.write(hint(headers), next));
    next();
  };

const message = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const accept = { accept: "application/json, text/event-stream" };

const calls: readonly [name: string, path: string, options: RequestOptions, body?: string][] = [
  ["an HTTP call", "/files/any", {}],
  [
    "an MCP call",
    "/tools",
    { method: "POST", headers: accept },
    message("tools/call", { name: "read", arguments: {} }),
  ],
  ["a filtered tool list", "/tools", { method: "POST", headers: accept }, message("tools/list", {})],
  ["an event stream", "/tools", { headers: { accept: "text/event-stream", "mcp-session-id": "1" } }],
  [
    "a WebSocket",
    "/files/live",
    {
      headers: {
        ...{ connection: "Upgrade", upgrade: "websocket" },
        ...{ "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" },
      },
    },
  ],
];

describe("interim answers without end", () => {
  test.each(calls)("of the server of %s are cut off, and the call is 502", async (_name, path, options, body) => {
    const { open, upstream } = await setup(endless("link: </a>\r\n"));
    const request = open(path, options);
    let hints = 0;
    request.on("information", () => {
      hints += 1;
    });
    const [response] = await once(request.end(body), "response");
    expect(response.statusCode).toBe(502);
    expect(hints).toBeLessThanOrEqual(64);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("are cut off by their size before their number", async () => {
    const { open } = await setup(endless(`link: <${"a".repeat(15_000)}>\r\n`));
    const request = open("/files/any");
    let hints = 0;
    request.on("information", () => {
      hints += 1;
    });
    const [response] = await once(request.end(), "response");
    expect(response.statusCode).toBe(502);
    expect(hints).toBeLessThan(8);
  });

  test("are cut off while the body is still sent", async () => {
    const { open, controlPlane, upstream } = await setup(endless(""));
    controlPlane.policies.set("http:files/any", { taint: "untrusted_external" });
    const request = open("/files/any", { method: "POST" });
    request.on("error", () => {});
    request.write("a piece");
    const [response] = await once(request, "response");
    expect(response.statusCode).toBe(502);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("do not extend the time for the answer: slow ones end in 504", async () => {
    const slow: Answer = (socket) => {
      const sending = setInterval(() => socket.write(hint("")), 50);
      socket.once("close", () => clearInterval(sending));
    };
    const { open } = await setup(slow, { upstreamHeadersMs: 500 });
    const [response] = await once(open("/files/any").end(), "response");
    expect(response.statusCode).toBe(504);
  });
});

test("an interim answer during an upload starts no time limit for the answer", async () => {
  const { open, controlPlane } = await setup(
    (socket) => {
      socket.write(hint(""));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.includes("the end")) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
      });
    },
    { upstreamHeadersMs: 1_000 },
  );
  controlPlane.policies.set("http:files/any", { taint: "untrusted_external" });
  const request = open("/files/any", { method: "POST" });
  const informed = once(request, "information");
  request.write("the beginning");
  await informed;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const [response] = await once(request.end("the end"), "response");
  expect(response.statusCode).toBe(200);
});
