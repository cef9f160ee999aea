import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { waitUntil } from "@svc/test-support";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { startedMcpServer } from "./support/mcp-server.ts";
import { startedPep } from "./support/pep.ts";

interface Setup {
  readonly json?: boolean;
  readonly upstream?: object;
  readonly limits?: Partial<Limits>;
}

async function setup({ json = false, upstream = {}, limits = {} }: Setup = {}) {
  const server = await startedMcpServer({ json });
  const running = await startedPep({
    upstreams: [{ name: "files", url: server.url, protocol: "mcp", data_class: "docs", ...upstream }],
    limits,
  });
  const { policies } = running.controlPlane;
  policies.set("mcp:files", {});
  policies.set("mcp:files/read_file", {});
  policies.set("mcp:files/write_file", { privileged: true });
  const headers = await running.session();
  const client = new Client({ name: "agent", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${running.url}/files`), { requestInit: { headers } });
  onTestFinished(() => client.close());
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const post = (body: string, more: Record<string, string> = {}) =>
    fetch(`${running.url}/files`, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...more,
      },
      body,
    });
  return { ...running, server, client, transport, headers, post };
}

const message = (id: unknown, method: string, params?: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe.each([
  ["event stream", false],
  ["JSON", true],
])(
  "the official MCP client and server, through the enforcement point and before a double of the control plane, over %s",
  (_name, json) => {
    test("list tools, call one and end the session", async () => {
      const { client, transport, server, controlPlane } = await setup({ json });
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
        "read_file",
        "write_file",
        "delete_file",
      ]);
      const result = await client.callTool({ name: "read_file", arguments: { path: "/a" } });
      expect(result.content).toEqual([{ type: "text", text: "read_file of /a" }]);
      await transport.terminateSession();
      const targets = controlPlane.decisions().map(({ target, data_class }) => `${target} ${data_class}`);
      expect(targets).toContain("mcp:files/read_file docs");
      expect(targets).toContain("mcp:files protocol");
      expect(server.requests.every(({ headers }) => headers.authorization?.startsWith("Bearer ey"))).toBe(true);
    });

    test("a privileged call is bound to its whole message", async () => {
      const { client, server, controlPlane } = await setup({ json });
      await client.callTool({ name: "write_file", arguments: { path: "/b" } });
      expect(server.ran).toEqual(["write_file /b"]);
      const minted = controlPlane.asked.find(({ path }) => path === "/v1/token/transaction");
      expect(JSON.parse(minted?.body ?? "{}").params).toMatchObject({
        method: "tools/call",
        params: { name: "write_file" },
      });
      expect(server.requests.filter(({ headers }) => headers["txn-token"] !== undefined)).toHaveLength(1);
    });

    test("a denied call is an error of that call alone, and the session continues", async () => {
      const { client, server } = await setup({ json });
      const denied = client.callTool({ name: "delete_file", arguments: { path: "/c" } });
      await expect(denied).rejects.toMatchObject({
        code: -32_010,
        data: {
          code: "policy",
          deny_reason: "TARGET_NOT_DECLARED",
          recoverable: false,
          consentable_scopes: [],
          action_id: expect.any(String),
        },
      });
      const result = await client.callTool({ name: "read_file", arguments: { path: "/d" } });
      expect(result.content).toEqual([{ type: "text", text: "read_file of /d" }]);
      expect(server.ran).toEqual(["read_file /d"]);
    });

    test("a tool list contains only what the caller may call, over all pages", async () => {
      const { client, controlPlane } = await setup({ json, upstream: { filter_tool_lists: true } });
      for (const other of ["http:a/b", "http:c/d", "http:e/f"]) controlPlane.policies.set(other, {});
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["read_file", "write_file"]);
      expect(controlPlane.countOf("/v1/session/targets")).toBeGreaterThan(1);
    });

    test("a tool list is an error if the allowed tools are unknown, never an empty success", async () => {
      const { client, controlPlane } = await setup({ json, upstream: { filter_tool_lists: true } });
      controlPlane.override = ({ path }, response) => {
        if (!path.startsWith("/v1/session/targets")) return undefined;
        response.writeHead(500).end();
        return true;
      };
      await expect(client.listTools()).rejects.toMatchObject({
        code: -32_603,
        message: expect.stringContaining("did not say"),
      });
    });
  },
);

describe("the block of a JSON-RPC request", () => {
  test("has the request's id, in a 200 with X-Svc-Blocked", async () => {
    const { post } = await setup();
    const response = await post(message("id-7", "tools/call", { name: "delete_file" }));
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([200, "policy"]);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: "id-7", error: { code: -32_010 } });
  });

  test.each([
    ["an undeclared method", "prompts/get", "unresolvable_call"],
    ["a control plane that is down", "tools/call", "pdp_unreachable"],
  ])("%s is an internal error", async (_name, method, cause) => {
    const { post, controlPlane } = await setup();
    if (cause === "pdp_unreachable") {
      controlPlane.override = (_asked, response) => {
        response.destroy();
        return true;
      };
    }
    const response = await post(message(1, method, { name: "read_file" }));
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { id: 1, error: { code: -32_603, data: { code: cause } } },
    ]);
  });

  test("an unauthorized call gets a 401", async () => {
    const { post } = await setup();
    const response = await post(message(1, "ping"), { authorization: "Bearer no" });
    expect(response.status).toBe(401);
  });

  test.each([
    ["a notification", '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_file"}}', 403, "policy"],
    ["a batch", `[${message(1, "ping")}]`, 400, "unresolvable_call"],
    ["an ambiguous message", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, "unresolvable_call"],
  ])("%s has no id and gets the status", async (_name, body, status, cause) => {
    const { post } = await setup();
    const response = await post(body);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([status, cause]);
  });

  test.each([
    ["another media type", { "content-type": "text/plain" }],
    ["a compressed body", { "content-encoding": "gzip" }],
    ["another charset", { "content-type": "application/json; charset=utf-16" }],
    ["a method header that says otherwise", { "mcp-method": "ping" }],
    ["a name header that says otherwise", { "mcp-name": "delete_file" }],
  ])("%s is unresolvable_call", async (_name, headers) => {
    const { post, server } = await setup();
    const before = server.requests.length;
    const response = await post(message(1, "tools/call", { name: "read_file" }), headers);
    expect(response.headers.get("x-svc-blocked")).toBe("unresolvable_call");
    expect(server.requests).toHaveLength(before);
  });

  test("headers that repeat the body are accepted", async () => {
    const { post, server, transport } = await setup();
    const headers = {
      "mcp-method": "tools/call",
      "mcp-name": "read_file",
      "mcp-session-id": transport.sessionId ?? "",
    };
    const response = await post(message(9, "tools/call", { name: "read_file", arguments: { path: "/e" } }), headers);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("read_file of /e")]);
    expect(server.ran).toEqual(["read_file /e"]);
  });

  test("a body over the bind cap is body_too_large, in band", async () => {
    const { post } = await setup();
    const response = await post(
      message(1, "tools/call", { name: "read_file", arguments: { path: "x".repeat(300_000) } }),
    );
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([200, "body_too_large"]);
  });
});

describe("the event stream that an agent opens", () => {
  test("delivers the server's messages, and is decided once", async () => {
    const { client, server, controlPlane, metric } = await setup();
    let told = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told += 1;
    });
    await waitUntil("the stream", () => server.listening() === 1);
    await server.announce();
    await waitUntil("the notification", () => told === 1);
    const decided = controlPlane.countOf("/v1/authorize");
    await waitUntil(
      "every call to be counted",
      async () => (await metric('svc_pep_calls_total{outcome="allowed"}')) === decided,
    );
  });

  test("is decided again and closed on a deny; no second call is counted", async () => {
    const { server, controlPlane, metric } = await setup({ limits: { redecideMs: 100 } });
    await waitUntil("the stream", () => server.listening() === 1);
    const calls = await metric('svc_pep_calls_total{outcome="allowed"}');
    const decided = controlPlane.countOf("/v1/authorize");
    await waitUntil("two more decisions", () => controlPlane.countOf("/v1/authorize") >= decided + 2);
    expect(server.listening()).toBe(1);
    expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(calls);
    controlPlane.policies.set("mcp:files", { denyReason: "SESSION_REVOKED" });
    await waitUntil("the stream to close", () => server.listening() === 0);
  });

  test("is closed where no decision can be made", async () => {
    const { server, controlPlane } = await setup({ limits: { redecideMs: 100 } });
    await waitUntil("the stream", () => server.listening() === 1);
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
    await waitUntil("the stream to close", () => server.listening() === 0);
  });
});
