import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET", "HEAD", "POST"], path: "/any", target: "http:files/any", data_class: "docs" },
  { methods: ["GET", "HEAD", "POST"], path: "/open", target: "http:files/open", data_class: "docs" },
];

type Handle = Parameters<typeof startedUpstream>[0];

async function setup(handle?: Handle, limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream(handle);
  const running = await startedPep({ upstreams: [{ name: "files", url: upstream.url, routes }], limits });
  running.controlPlane.policies.set("http:files/any", {});
  // Allowed under taint: known to accept it.
  running.controlPlane.policies.set("http:files/open", { taint: "untrusted_external" });
  const headers = await running.session();
  const open = (path: string, options: RequestOptions = {}): ClientRequest =>
    httpRequest(`${running.url}/files${path}`, { ...options, headers: { ...headers, ...options.headers } });
  return { ...running, upstream, headers, open };
}

const responseTo = async (request: ClientRequest): Promise<IncomingMessage> => (await once(request, "response"))[0];

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

describe("responses stream", () => {
  test("each piece arrives before the next is sent", async () => {
    const { open } = await setup((request, response) => {
      request.on("data", (chunk) => response.write(chunk));
      request.on("end", () => response.end());
    });
    const request = open("/open", { method: "POST" });
    request.write("first");
    const response = await responseTo(request);
    expect(String((await once(response, "data"))[0])).toBe("first");
    request.write("second");
    expect(String((await once(response, "data"))[0])).toBe("second");
    request.end("third");
    expect(await textOf(response)).toBe("third");
  });

  test("server-sent events pass one by one, and longer than any idle time", async () => {
    let send = (_event: string) => {};
    const { open } = await setup(
      (_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        send = (event) => response.write(`data: ${event}\n\n`);
      },
      { idleBodyMs: 50 },
    );
    const request = open("/any").end();
    const response = await responseTo(request);
    await new Promise((resolve) => setTimeout(resolve, 200));
    send("one");
    expect(String((await once(response, "data"))[0])).toBe("data: one\n\n");
    send("two");
    expect(String((await once(response, "data"))[0])).toBe("data: two\n\n");
    request.destroy();
  });

  test("case 63: 103 and trailers pass", async () => {
    const { open } = await setup((_request, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeHead(200, { trailer: "x-sum, x-svc-secret", "content-type": "text/plain" });
      response.write("body");
      response.addTrailers({ "x-sum": "7", "x-svc-secret": "1" });
      response.end();
    });
    const request = open("/any", { headers: { te: "trailers" } }).end();
    const hints: unknown[] = [];
    request.on("information", ({ statusCode, headers }) => hints.push([statusCode, headers.link]));
    const response = await responseTo(request);
    expect(await textOf(response)).toBe("body");
    expect(hints).toEqual([[103, "</files/style.css>; rel=preload"]]);
    expect(response.trailers).toEqual({ "x-sum": "7" });
  });

  test("trailers are announced only in a chunked answer, and removed from any other", async () => {
    const { open } = await setup((request) => {
      const length = request.method === "HEAD" ? "" : "Content-Length: 2\r\n";
      request.socket.end(`HTTP/1.1 200 OK\r\nTrailer: x-sum\r\n${length}\r\n${request.method === "HEAD" ? "" : "ok"}`);
    });
    for (const method of ["GET", "HEAD"]) {
      const response = await responseTo(open("/any", { method }).end());
      expect([response.statusCode, response.headers.trailer]).toEqual([200, undefined]);
      response.resume();
    }
  });

  test("an HTTP/1.0 agent receives neither 100 nor 103, which it would read as its answer", async () => {
    const { port, headers } = await setup(async (_request, response, { body }) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.end(`got ${await body}`);
    });
    const lines = ["POST /files/open HTTP/1.0", `Host: 127.0.0.1:${port}`, "Expect: 100-continue", "Content-Length: 4"];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`];
    const agent = await rawConnection(port, [...lines, ...own, "", "body"].join("\r\n"));
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*got body/s);
  });

  test("case 59: a redirect is the agent's to follow, or not", async () => {
    const elsewhere = await startedUpstream();
    const { url, headers } = await setup((_request, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
    });
    const response = await fetch(`${url}/files/any`, { headers, redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([307, elsewhere.url]);
    expect(elsewhere.received).toHaveLength(0);
  });

  test("case 60: a token that an upstream reflects in a header does not come back", async () => {
    const { url, headers } = await setup((request, response) => {
      const { authorization = "" } = request.headers;
      response
        .writeHead(200, { "x-echo": authorization, "x-svc-blocked": "policy", "txn-token": "x", "x-fine": "1" })
        .end();
    });
    const response = await fetch(`${url}/files/any`, { headers });
    expect(Object.fromEntries(response.headers)).not.toHaveProperty("x-echo");
    expect(response.headers.get("x-svc-blocked")).toBeNull();
    expect(response.headers.get("txn-token")).toBeNull();
    expect(response.headers.get("x-fine")).toBe("1");
  });

  test("case 66: an encoded body is relayed unchanged, with any repeats of its coding", async () => {
    const coding = Array(1_000).fill("gzip").join(", ");
    const { open } = await setup((_request, response) => {
      response.writeHead(200, { "content-encoding": coding, "content-length": 3 }).end("abc");
    });
    const response = await responseTo(open("/any").end());
    expect([response.headers["content-encoding"], await textOf(response)]).toEqual([coding, "abc"]);
  });

  test("repeated headers stay apart, a HEAD has no body and a 204 no length", async () => {
    const { open } = await setup((request, response) => {
      if (request.method === "HEAD")
        response.writeHead(200, { "content-length": 7, "set-cookie": ["a=1", "b=2"] }).end();
      else response.writeHead(204, { "content-length": 5 }).end();
    });
    const head = await responseTo(open("/any", { method: "HEAD" }).end());
    expect([head.headers["content-length"], head.headers["set-cookie"]]).toEqual([
      "7",
      ["a=1; Path=/files", "b=2; Path=/files"],
    ]);
    const empty = await responseTo(open("/any", { method: "POST" }).end());
    expect([empty.statusCode, empty.headers["content-length"]]).toEqual([204, undefined]);
  });
});

describe("uploads stream", () => {
  test("a body of 8 MiB arrives whole, with its length", async () => {
    const { url, headers, upstream } = await setup();
    const body = Buffer.alloc(8 * 2 ** 20, "x");
    const response = await fetch(`${url}/files/any`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    expect((await upstream.received[0]?.body)?.length).toBe(body.length);
    expect(upstream.received[0]?.headers["content-length"]).toBe(String(body.length));
  });

  test("a chunked body stays chunked", async () => {
    const { open, upstream } = await setup();
    const request = open("/open", { method: "POST" });
    request.write("one,");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    request.end("two");
    await responseTo(request);
    expect(await upstream.received[0]?.body).toBe("one,two");
    expect(upstream.received[0]?.headers["transfer-encoding"]).toBe("chunked");
  });

  test("an answer that comes before the upload ends is passed on", async () => {
    const { open } = await setup((_request, response) =>
      response.writeHead(413, { connection: "close" }).end("enough"),
    );
    const request = open("/open", { method: "POST" });
    request.on("error", () => {});
    request.write(Buffer.alloc(64 * 1024));
    const response = await responseTo(request);
    expect([response.statusCode, await textOf(response)]).toEqual([413, "enough"]);
    request.destroy();
  });
});

test("a GET with a body is sent with it", async () => {
  const { open, upstream } = await setup();
  await responseTo(open("/any", { headers: { "content-length": 3 } }).end("abc"));
  expect(await upstream.received[0]?.body).toBe("abc");
});

describe("an upstream that fails is no block", () => {
  test("a closed port is 502", async () => {
    const { url, session, controlPlane, metric } = await startedPep({
      upstreams: [{ name: "files", url: "http://127.0.0.1:9", routes }],
    });
    controlPlane.policies.set("http:files/any", {});
    const response = await fetch(`${url}/files/any`, { headers: await session() });
    expect(response.status).toBe(502);
    expect(response.headers.get("x-svc-blocked")).toBeNull();
    expect(await response.json()).toMatchObject({ error: { code: "upstream_unreachable" } });
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(1);
    expect(await metric('svc_pep_blocks_total{cause="other"}')).toBe(0);
  });

  test("case 61: silence before the headers is 504 within the budget, and its connection is closed", async () => {
    const { url, headers, upstream } = await setup(() => {}, { upstreamHeadersMs: 100 });
    const response = await fetch(`${url}/files/any`, { headers });
    expect([response.status, await response.json()]).toMatchObject([504, { error: { code: "upstream_timeout" } }]);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("case 61: silence in the body cuts the agent's connection", async () => {
    const { open, upstream } = await setup((_request, response) => response.writeHead(200).write("half"), {
      idleBodyMs: 100,
    });
    const response = await responseTo(open("/any").end());
    await expect(textOf(response)).rejects.toThrow("aborted");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("case 62: a reset in the body is an abort to the agent, never a clean end", async () => {
    const { open } = await setup((request, response) => {
      response.writeHead(200, { "transfer-encoding": "chunked" });
      response.write("half", () => request.socket.resetAndDestroy());
    });
    const response = await responseTo(open("/any").end());
    await expect(textOf(response)).rejects.toThrow("aborted");
  });

  test.each([
    ["an unasked 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    ["an unasked 100", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["no HTTP", "SSH-2.0-OpenSSH\r\n"],
    ["two framings", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"],
    ["a NUL in a header", "HTTP/1.1 200 OK\r\nX-A: a\u0000b\r\nContent-Length: 0\r\n\r\n"],
    ["a bare carriage return in a header", "HTTP/1.1 200 OK\r\nX-A: a\rX-Svc-Blocked: b\r\nContent-Length: 0\r\n\r\n"],
    ["headers without end", `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(100_000)}\r\n\r\n`],
  ])("case 63: %s is 502, and the enforcement point goes on", async (_name, bytes) => {
    const { url, headers } = await setup((request) => request.socket.end(bytes, "latin1"));
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(502);
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(502);
  });

  test("case 63: a 204 with a body desynchronizes nothing", async () => {
    const { url, headers } = await setup((request) => {
      request.socket.write("HTTP/1.1 204 No Content\r\nContent-Length: 26\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged!");
    });
    for (let call = 0; call < 3; call++) expect((await fetch(`${url}/files/any`, { headers })).status).toBe(204);
  });

  test("case 67: an upstream that closes during a POST receives it once at most, and the agent gets 502", async () => {
    const { url, headers, upstream } = await setup((request, response, { body }) => {
      if (upstream.received.length === 1) response.end("kept alive");
      else void body.then(() => request.socket.destroy());
    });
    const post = () => fetch(`${url}/files/any`, { method: "POST", headers, body: "{}" });
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(502);
    expect(upstream.received).toHaveLength(2);
  });
});

describe("an agent that disconnects", () => {
  test("case 64: ends the upstream's request, mid-answer", async () => {
    const { open, upstream } = await setup((_request, response) => {
      response.writeHead(200).write("half");
    });
    const aborted = 100;
    for (let call = 0; call < aborted; call++) {
      const request = open("/any").end();
      request.on("error", () => {});
      (await responseTo(request)).destroy();
    }
    await waitUntil("every upstream connection to close", () => upstream.sockets.size === 0);
    expect(upstream.received).toHaveLength(aborted);
  });

  test("case 64: closes it while the answer waits for it", async () => {
    const { open, upstream } = await setup((_request, response) => {
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
      };
      response.on("drain", pour);
      pour();
    });
    const request = open("/any").end();
    request.on("error", () => {});
    const response = await responseTo(request);
    response.pause();
    await waitUntil("the answer to back up", () => [...upstream.sockets].every((socket) => socket.writableNeedDrain));
    request.destroy();
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("case 64: closes it mid-upload", async () => {
    const { open, upstream } = await setup();
    const request = open("/open", { method: "POST" });
    request.on("error", () => {});
    request.write("half");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    request.destroy();
    await expect(upstream.received[0]?.body).rejects.toThrow("aborted");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("is not counted before a decision, and nothing goes upstream", async () => {
    const { open, upstream, controlPlane, metrics } = await setup();
    controlPlane.override = ({ path }) => path === "/v1/authorize";
    const request = open("/any").end();
    request.on("error", () => {});
    await waitUntil("the decision to be asked for", () => controlPlane.countOf("/v1/authorize") === 1);
    request.destroy();
    controlPlane.override = undefined;
    expect((await responseTo(open("/any").end())).statusCode).toBe(200);
    expect(await metrics()).toContain('svc_pep_calls_total{outcome="blocked"} 0');
    expect(upstream.received).toHaveLength(1);
  });

  test("case 65: one that stops sending its body is cut off", async () => {
    const { port, headers } = await setup(undefined, { idleBodyMs: 100, bodyPauseMs: 50 });
    const lines = ["POST /files/any HTTP/1.1", `Host: 127.0.0.1:${port}`, "Content-Length: 10"];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`];
    const agent = await rawConnection(port, [...lines, ...own, "", "half"].join("\r\n"));
    expect(await agent.closed()).toBe("");
  });

  test("case 65: 200 agents that send nothing, or headers byte by byte, are cut off, and others are served meanwhile", async () => {
    const { port, url, headers } = await setup(undefined, { agentHeadersMs: 2_000 });
    const idle = await Promise.all(
      Array.from({ length: 200 }, (_, n) => rawConnection(port, n % 2 === 0 ? "" : "GET /fil")),
    );
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(200);
    await Promise.all(idle.map((agent) => agent.closed()));
  });
});
