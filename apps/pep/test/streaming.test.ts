import { once } from "node:events";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { responseTo, startedFiles, textOf } from "./support/files.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

describe("responses stream", () => {
  test("each piece arrives before the next is sent", async () => {
    const { open } = await startedFiles((request, response) => {
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
    const { open } = await startedFiles(
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

  test("case 63: 103 and trailers are forwarded", async () => {
    const { open } = await startedFiles((_request, response) => {
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

  test("trailers are announced only in a chunked response, and removed from any other", async () => {
    const { open } = await startedFiles((request) => {
      const length = request.method === "HEAD" ? "" : "Content-Length: 2\r\n";
      request.socket.end(`HTTP/1.1 200 OK\r\nTrailer: x-sum\r\n${length}\r\n${request.method === "HEAD" ? "" : "ok"}`);
    });
    for (const method of ["GET", "HEAD"]) {
      const response = await responseTo(open("/any", { method }).end());
      expect([response.statusCode, response.headers.trailer]).toEqual([200, undefined]);
      response.resume();
    }
  });

  test("an HTTP/1.0 agent receives neither 100 nor 103, which it would read as its response", async () => {
    const { port, headers } = await startedFiles(async (_request, response, { body }) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.end(`got ${await body}`);
    });
    const lines = ["POST /files/open HTTP/1.0", `Host: 127.0.0.1:${port}`, "Expect: 100-continue", "Content-Length: 4"];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`];
    const agent = await rawConnection(port, [...lines, ...own, "", "body"].join("\r\n"));
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*got body/s);
  });

  test("case 59: a redirect is returned to the agent, not followed", async () => {
    const elsewhere = await startedUpstream();
    const { url, headers } = await startedFiles((_request, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
    });
    const response = await fetch(`${url}/files/any`, { headers, redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([307, elsewhere.url]);
    expect(elsewhere.received).toHaveLength(0);
  });

  test("case 60: a token that an upstream reflects in a header is removed", async () => {
    const { url, headers } = await startedFiles((request, response) => {
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
    const { open } = await startedFiles((_request, response) => {
      response.writeHead(200, { "content-encoding": coding, "content-length": 3 }).end("abc");
    });
    const response = await responseTo(open("/any").end());
    expect([response.headers["content-encoding"], await textOf(response)]).toEqual([coding, "abc"]);
  });

  test("repeated headers stay separate, a HEAD has no body and a 204 no length", async () => {
    const { open } = await startedFiles((request, response) => {
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
    const { url, headers, upstream } = await startedFiles();
    const body = Buffer.alloc(8 * 2 ** 20, "x");
    const response = await fetch(`${url}/files/any`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    expect((await upstream.received[0]?.body)?.length).toBe(body.length);
    expect(upstream.received[0]?.headers["content-length"]).toBe(String(body.length));
  });

  test("a chunked body stays chunked", async () => {
    const { open, upstream } = await startedFiles();
    const request = open("/open", { method: "POST" });
    request.write("one,");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    request.end("two");
    await responseTo(request);
    expect(await upstream.received[0]?.body).toBe("one,two");
    expect(upstream.received[0]?.headers["transfer-encoding"]).toBe("chunked");
  });

  test("a response before the end of the upload is forwarded", async () => {
    const { open } = await startedFiles((_request, response) =>
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

test("a GET with a body is forwarded with it", async () => {
  const { open, upstream } = await startedFiles();
  await responseTo(open("/any", { headers: { "content-length": 3 } }).end("abc"));
  expect(await upstream.received[0]?.body).toBe("abc");
});
