import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { responseTo, startedFiles } from "./support/files.ts";
import { rawConnection } from "./support/raw.ts";

describe("an agent that disconnects", () => {
  test("case 64: ends the upstream's request during the response", async () => {
    const { open, upstream } = await startedFiles((_request, response) => {
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

  test("case 64: closes the upstream's connection while the response waits for the agent", async () => {
    const { open, upstream } = await startedFiles((_request, response) => {
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

  test("case 64: closes the upstream's connection during the upload", async () => {
    const { open, upstream } = await startedFiles();
    const request = open("/open", { method: "POST" });
    request.on("error", () => {});
    request.write("half");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    request.destroy();
    await expect(upstream.received[0]?.body).rejects.toThrow("aborted");
    await waitUntil("the upstream's connection to close", () => upstream.sockets.size === 0);
  });

  test("is not counted before a decision, and nothing goes upstream", async () => {
    const { open, upstream, controlPlane, metrics } = await startedFiles();
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

  test("case 65: one that stops sending its body is disconnected", async () => {
    const { port, headers } = await startedFiles(undefined, { idleBodyMs: 100, bodyWaitMs: 50 });
    const lines = ["POST /files/any HTTP/1.1", `Host: 127.0.0.1:${port}`, "Content-Length: 10"];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`];
    const agent = await rawConnection(port, [...lines, ...own, "", "half"].join("\r\n"));
    expect(await agent.closed()).toBe("");
  });

  test("case 65: 200 agents that send nothing, or headers byte by byte, are disconnected, and others are served meanwhile", async () => {
    const { port, url, headers } = await startedFiles(undefined, { agentHeadersMs: 2_000 });
    const idle = await Promise.all(
      Array.from({ length: 200 }, (_, n) => rawConnection(port, n % 2 === 0 ? "" : "GET /fil")),
    );
    expect((await fetch(`${url}/files/any`, { headers })).status).toBe(200);
    await Promise.all(idle.map((agent) => agent.closed()));
  });
});
