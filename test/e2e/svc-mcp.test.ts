import { openStand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { decisionsOf } from "./src/pep/record.ts";
import { officialServer } from "./src/stdio/servers.ts";
import { connectDesktop, startByHand } from "./src/stdio/svc-mcp.ts";

const scope = "everything";
const ref = (name: string) => ({ ref: `mcp:${scope}${name}`, data_classes: ["docs"] });
const granted = ["/echo", "/get-env", "/trigger-long-running-operation", "/trigger-elicitation-request"];
const stand = await openStand({
  scopes: {
    [scope]: {
      hop_budget: 3,
      tools: [...granted, "#resources/list", "#resources/read", "#prompts/list", "#prompts/get"].map(ref),
    },
  },
  upstreams: () => [],
});
afterAll(() => stand.stop());

const server = officialServer("everything", "stdio");
const desktop = await connectDesktop(stand, { scope, server, more: ["--env", "GREETING"], env: { GREETING: "hello" } });
const { client } = desktop;
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";
/** Of ada, the latest first. */
const sessions = async () =>
  (await stand.api.call("GET", "/v1/sessions?user_sub=ada", { bearer: stand.api.tokens.audit })).body.data;

describe("a desktop client with a server over stdio behind svc mcp", () => {
  test("sees the tools that the agent may call", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => `/${name}`).sort()).toEqual([...granted].sort());
  });

  test("calls a tool, by lines of any content", async () => {
    const message = "Grüße \u2028 世界\n";
    expect(textOf(await client.callTool({ name: "echo", arguments: { message } }))).toBe(`Echo: ${message}`);
  });

  test("gets a denied call as a result that says why", async () => {
    const denied = await client.callTool({ name: "get-sum", arguments: { a: 1, b: 2 } });
    expect(denied.isError).toBe(true);
    expect(textOf(denied)).toMatch(/mcp:everything\/get-sum.*TARGET_NOT_DECLARED/);
  });

  test("gets progress, and the server's own requests", async () => {
    const seen: unknown[] = [];
    const call = { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } };
    await client.callTool(call, undefined, { onprogress: (progress) => seen.push(progress) });
    // The official client drops a progress that comes in one piece with the answer.
    expect(seen).not.toEqual([]);
    const asked = await client.callTool({ name: "trigger-elicitation-request" });
    expect(JSON.stringify(asked)).toContain("Ada");
  });

  test("cancels a call, and the next one works", async () => {
    const call = { name: "trigger-long-running-operation", arguments: { duration: 60, steps: 60 } };
    const cancelled = client.callTool(call, undefined, { signal: AbortSignal.timeout(200) });
    await expect(cancelled).rejects.toThrow();
    expect(textOf(await client.callTool({ name: "echo", arguments: { message: "on" } }))).toBe("Echo: on");
  });

  test("reads resources and prompts", async () => {
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? "" });
    expect(contents).toHaveLength(1);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain("simple-prompt");
    expect((await client.getPrompt({ name: "simple-prompt" })).messages).not.toEqual([]);
  });

  test("hands the server the variables of --env, and nothing of ours", async () => {
    const env = JSON.parse(textOf(await client.callTool({ name: "get-env" })));
    expect(env).toMatchObject({ GREETING: "hello", PATH: expect.any(String) });
    expect(Object.keys(env).filter((name) => name.startsWith("SVC_"))).toEqual([]);
  });

  test("ends the session and the server when it closes the input, and every call is recorded", async () => {
    const [{ session_id: session }] = await sessions();
    await client.close();
    await waitUntil("the session to end", async () => (await sessions())[0].revoked_at !== null);
    const rows = await decisionsOf(stand, session);
    const counts = Object.groupBy(rows, ({ target }) => target);
    expect(counts[`mcp:${scope}/get-sum`]).toMatchObject([{ decision: "deny", enforced: true }]);
    expect(counts[`mcp:${scope}/echo`]).toHaveLength(2);
  });
});

/** It initializes, and ends at the first call. */
const fragile = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "fragile", version: "1" } };
  if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  else if (id !== undefined) process.exit(3);
})`;

describe("svc mcp by hand", () => {
  const initialize = {
    ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "hand", version: "1" } },
  };
  const call = (id: number, name: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: {} },
  });

  test("writes nothing but MCP to standard output, answers what is no message, and ends with its input", async () => {
    const svc = startByHand(stand, { scope, server });
    svc.write("no message\n");
    svc.send(initialize);
    await waitUntil("the answer", () => svc.lines().length > 1);
    svc.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    svc.send(call(1, "get-sum"));
    await waitUntil("the answer", () => svc.lines().some(({ id }) => id === 1));
    svc.end();
    expect(await svc.exited).toBe(0);
    expect(svc.lines().every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
    expect(svc.lines()[0]).toMatchObject({ id: null, error: { code: -32700 } });
    expect((await sessions())[0].revoked_at).not.toBeNull();
  });

  test("ends with exit code 1 where its server ends, after an answer to every call", async () => {
    const svc = startByHand(stand, { scope, server: [process.execPath, "-e", fragile] });
    svc.send(initialize);
    await waitUntil("the answer", () => svc.lines().length > 0);
    svc.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    svc.send(call(1, "echo"));
    expect(await svc.exited).toBe(1);
    expect(svc.lines()[1]).toMatchObject({ id: 1, error: { message: expect.stringContaining("ended (exit code 3)") } });
    expect((await sessions())[0].revoked_at).not.toBeNull();
  });

  test("SIGTERM ends the session and the server", async () => {
    const svc = startByHand(stand, { scope, server });
    svc.send(initialize);
    await waitUntil("the answer", () => svc.lines().length > 0);
    svc.kill("SIGTERM");
    expect(await svc.exited).toBe(143);
    expect((await sessions())[0].revoked_at).not.toBeNull();
  });
});
