import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { responseTo, routes, startedFiles, textOf } from "./support/files.ts";
import { startedPep } from "./support/pep.ts";

describe("a failure of an upstream is not a block", () => {
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
    const { url, headers, upstream } = await startedFiles(() => {}, { upstreamHeadersMs: 100 });
    const response = await fetch(`${url}/files/any`, { headers });
    expect([response.status, await response.json()]).toMatchObject([504, { error: { code: "upstream_timeout" } }]);
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("case 61: silence in the body closes the agent's connection", async () => {
    const { open, upstream } = await startedFiles((_request, response) => response.writeHead(200).write("half"), {
      idleBodyMs: 100,
    });
    const response = await responseTo(open("/any").end());
    await expect(textOf(response)).rejects.toThrow("aborted");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("case 62: a reset in the body is an abort to the agent, never a clean end", async () => {
    const { open } = await startedFiles((request, response) => {
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
    [
      "a transfer coding that was not asked for",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ],
    ["a NUL in a header", "HTTP/1.1 200 OK\r\nX-A: a\u0000b\r\nContent-Length: 0\r\n\r\n"],
    ["a bare carriage return in a header", "HTTP/1.1 200 OK\r\nX-A: a\rX-Svc-Blocked: b\r\nContent-Length: 0\r\n\r\n"],
    ["headers without end", `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(100_000)}\r\n\r\n`],
  ])("case 63: %s is 502, and the enforcement point continues", async (_name, bytes) => {
    const { url, headers } = await startedFiles((request) => request.socket.end(bytes, "latin1"));
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(502);
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(502);
  });

  test("case 63: a 204 with a body does not shift later responses", async () => {
    const { url, headers } = await startedFiles((request) => {
      request.socket.write("HTTP/1.1 204 No Content\r\nContent-Length: 26\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged!");
    });
    for (let call = 0; call < 3; call++) expect((await fetch(`${url}/files/any`, { headers })).status).toBe(204);
  });

  test("case 67: an upstream that closes during a POST receives it once at most, and the agent gets 502", async () => {
    const { url, headers, upstream } = await startedFiles((request, response, { body }) => {
      if (upstream.received.length === 1) response.end("kept alive");
      else void body.then(() => request.socket.destroy());
    });
    const post = () => fetch(`${url}/files/any`, { method: "POST", headers, body: "{}" });
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(502);
    expect(upstream.received).toHaveLength(2);
  });
});
