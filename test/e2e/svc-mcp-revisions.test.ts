import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openStand } from "@svc/test-conformance/stand";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { officialServer, statelessServer } from "./src/stdio/servers.ts";
import { desktopEntry } from "./src/stdio/svc-mcp.ts";

const tools = { stateless: ["greet"], everything: ["echo", "trigger-long-running-operation"] };
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
async function connect(scope: string, server: readonly string[]): Promise<Client> {
  const client = new Client({ name: "desktop", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport({ ...desktopEntry(stand, { scope, server }), stderr: "ignore" }));
  onTestFinished(() => client.close());
  return client;
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";

describe("a client that speaks MCP 2026-07-28", () => {
  test("works without a handshake at a server of that revision alone: list, call, denied call", async () => {
    const client = await connect("stateless", statelessServer());
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools.stateless);
    expect(textOf(await client.callTool({ name: "greet", arguments: { name: "Ada" } }))).toBe("hello Ada");
    const denied = await client.callTool({ name: "secret", arguments: {} });
    expect([denied.isError, textOf(denied)]).toEqual([true, expect.stringMatching(/TARGET_NOT_DECLARED/)]);
  });

  test("initializes at a server of an earlier revision, and cancels a call there", async () => {
    const client = await connect("everything", officialServer("everything", "stdio"));
    const long = { name: "trigger-long-running-operation", arguments: { duration: 60, steps: 60 } };
    await expect(client.callTool(long, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
    expect(textOf(await client.callTool({ name: "echo", arguments: { message: "on" } }))).toBe("Echo: on");
  });
});
