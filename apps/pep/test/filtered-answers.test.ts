import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const list = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file"},{"name":"other"}]}}';
const filtered = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file"}]}}';

type Handle = NonNullable<Parameters<typeof startedUpstream>[0]>;

async function setup(handle: Handle) {
  const upstream = await startedUpstream(handle);
  const files = { name: "files", url: upstream.url, protocol: "mcp", data_class: "docs", filter_tool_lists: true };
  const running = await startedPep({ upstreams: [files] });
  for (const target of ["mcp:files", "mcp:files/read_file"]) running.controlPlane.policies.set(target, {});
  const headers = await running.session();
  const post = (method: string, id = 1) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { name: "read_file" } });
    return fetch(`${running.url}/files`, { method: "POST", headers, body });
  };
  return { ...running, upstream, post };
}

const oldBody = {
  etag: '"old"',
  digest: "sha-256=old",
  "content-digest": "sha-256=:b2xk:",
  "repr-digest": "sha-256=:b2xk:",
  "content-md5": "b2xk",
  "content-range": "bytes 0-1/2",
  "accept-ranges": "bytes",
  "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT",
  expires: "Sun, 06 Nov 2094 08:49:37 GMT",
  age: "7",
  "cache-control": "public, max-age=3600",
};

describe("the answer to a request behind a filter", () => {
  test.each(["application/json", "text/event-stream"])("of type %s has no header of its old body", async (type) => {
    const { post } = await setup((_request, response) => {
      const body = type === "application/json" ? list : `data: ${list}\n\n`;
      response.writeHead(200, { ...oldBody, "content-type": type, trailer: "content-digest, x-sum" });
      response.write(body);
      response.addTrailers({ "content-digest": "sha-256=:b2xk:", "x-sum": "7" });
      response.end();
    });
    const answer = await post("tools/list");
    expect(await answer.text()).toBe(type === "application/json" ? filtered : `data: ${filtered}\n\n`);
    const left = Object.keys(oldBody).filter((name) => answer.headers.has(name));
    expect(left).toEqual(["cache-control"]);
    expect(answer.headers.get("cache-control")).toBe("private, no-store, no-transform, max-age=0");
    expect(answer.headers.get("content-length")).toBeNull();
  });

  test.each(["application/json", "text/event-stream"])(
    "of type %s, compressed although not asked for, is a JSON-RPC error with the request's id",
    async (type) => {
      const { post, upstream } = await setup((_request, response) => {
        const bytes = gzipSync(type === "application/json" ? list : `data: ${list}\n\n`);
        response.writeHead(200, { ...oldBody, "content-type": type, "content-encoding": "gzip" });
        response.write(bytes);
        // An event stream does not end.
        if (type === "application/json") response.end();
      });
      const answer = await post("tools/list", 7);
      expect([answer.status, answer.headers.get("content-encoding"), answer.headers.get("etag")]).toEqual([
        200,
        null,
        null,
      ]);
      expect(answer.headers.get("x-svc-blocked")).toBeNull();
      expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: 7, error: { code: -32603 } });
      expect(upstream.received[0]?.headers["accept-encoding"]).toBe("identity");
    },
  );

  test("of another call brings no list, whatever its length", async () => {
    let padding = "";
    const { post } = await setup((_request, response) => {
      const body = `{"jsonrpc":"2.0","id":1,"result":{"x":"${padding}","tools":[{"name":"other"}]}}`;
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
    expect(await (await post("tools/call", 2)).json()).toMatchObject({ id: 1, error: { code: -32603 } });
    padding = "x".repeat(2 * 1024 * 1024);
    await expect(post("tools/call", 2).then((answer) => answer.text())).rejects.toThrow("terminated");
  });

  test("of 3.3 MB does not hold up other calls", async () => {
    const tools = Array.from({ length: 1_000 }, (_, at) =>
      JSON.stringify({ name: `tool_${at}`, inputSchema: { a: Array(800).fill({}) } }),
    );
    const { post, metric } = await setup((_request, response, { body }) => {
      const long = `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join()}]}}`;
      body.then((text) => {
        const answer = text.includes("tools/list") ? long : '{"jsonrpc":"2.0","id":1,"result":{}}';
        response.writeHead(200, { "content-type": "application/json" }).end(answer);
      });
    });
    await post("tools/call").then((answer) => answer.text());
    const listed = post("tools/list").then((answer) => answer.json());
    let slowest = 0;
    let isOver = false;
    listed.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const startedMs = performance.now();
      await metric("svc_pep_up");
      slowest = Math.max(slowest, performance.now() - startedMs);
    }
    expect(await listed).toMatchObject({ result: { tools: [] } });
    expect(slowest).toBeLessThan(1_000);
  });
});
