import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openStand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { officialServer, statelessServer } from "./src/stdio/servers.ts";
import { desktopEntry } from "./src/stdio/svc-mcp.ts";

const tools = { stateless: ["greet", "pid"], everything: ["echo", "trigger-long-running-operation"] };
const stand = await openStand({
  scopes: Object.fromEntries(
    Object.entries(tools).map(([server, names]) => [
      server,
      { hop_budget: 3, tools: names.map((name) => ({ ref: `mcp:${server}/${name}`, data_classes: ["docs"] })) },
    ]),
  ),
  upstreams: () => [],
});
afterAll(() => stand.stop());

/** The official client of both revisions, which starts `svc mcp` and asks the server for its revision first. */
async function connect(scope: string, server: readonly string[]) {
  const client = new Client({ name: "desktop", version: "1" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StdioClientTransport({ ...desktopEntry(stand, { scope, server }), stderr: "ignore" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";

describe("a client that speaks MCP 2026-07-28", () => {
  test("works without a handshake at a server of that revision alone: list, call, denied call", async () => {
    const { client } = await connect("stateless", statelessServer());
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools.stateless);
    expect(textOf(await client.callTool({ name: "greet", arguments: { name: "Ada" } }))).toBe("hello Ada");
    const denied = await client.callTool({ name: "secret", arguments: {} });
    expect([denied.isError, textOf(denied)]).toEqual([true, expect.stringMatching(/TARGET_NOT_DECLARED/)]);
  });

  test("initializes at a server of an earlier revision, and cancels a call there", async () => {
    const { client } = await connect("everything", officialServer("everything", "stdio"));
    const long = { name: "trigger-long-running-operation", arguments: { duration: 60, steps: 60 } };
    await expect(client.callTool(long, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
    expect(textOf(await client.callTool({ name: "echo", arguments: { message: "on" } }))).toBe("Echo: on");
  });
});

test.each<[string, (connected: Awaited<ReturnType<typeof connect>>) => unknown]>([
  ["its client closes the input", ({ client }) => client.close()],
  ["svc mcp is killed", ({ transport }) => process.kill(transport.pid ?? 0, "SIGKILL")],
])("a server that outlives its input and SIGTERM ends where %s", async (_how, end) => {
  const connected = await connect("stateless", statelessServer("stubborn"));
  const pid = Number(textOf(await connected.client.callTool({ name: "pid", arguments: {} })));
  expect(isRunning(pid)).toBe(true);
  await end(connected);
  await waitUntil("the server to end", () => !isRunning(pid));
});
