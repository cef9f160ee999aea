import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as NextClient, StreamableHTTPClientTransport as NextTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { openStand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { decisionsOf } from "./src/pep/record.ts";
import { officialServer, statelessServer } from "./src/stdio/servers.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-stdio-"));
writeFileSync(join(folder, "note.txt"), "a note");
writeFileSync(join(folder, "key"), "planted-key-of-the-server\n");

const tools = {
  files: ["list_directory", "read_text_file"],
  memory: ["create_entities", "read_graph"],
  stateless: ["greet", "pid"],
  watched: ["pid"],
  stubborn: ["pid"],
};
const settings = { protocol: "mcp", data_class: "docs" };
const stand = await openStand({
  scopes: Object.fromEntries(
    Object.entries(tools).map(([server, names]) => [
      server,
      { hop_budget: 2, tools: names.map((name) => ({ ref: `mcp:${server}/${name}`, data_classes: ["docs"] })) },
    ]),
  ),
  upstreams: () => [
    { name: "files", command: officialServer("filesystem", folder), ...settings, denials: "result" },
    {
      ...{ name: "memory", command: officialServer("memory"), ...settings },
      env: { MEMORY_FILE_PATH: join(folder, "memory.json"), KEY: { file: join(folder, "key") } },
    },
    { name: "stateless", command: statelessServer(), ...settings, filter_tool_lists: true },
    { name: "stubborn", command: statelessServer("stubborn"), ...settings },
    { name: "watched", command: statelessServer(), ...settings, mode: "observe" },
  ],
});
afterAll(async () => {
  await stand.stop();
  rmSync(folder, { recursive: true, force: true });
});

const url = (server: string) => new URL(`${stand.enforcementPoint.url}/${server}`);
const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";

async function connect(server: string) {
  const { session, token } = await stand.api.consent(server);
  const transport = new StreamableHTTPClientTransport(url(server), { requestInit: { headers: headersOf(token) } });
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return { session, client };
}

/** The official client that speaks MCP 2026-07-28, and earlier revisions to servers that do not. */
async function connectNext(server: string) {
  const { session, token } = await stand.api.consent(server);
  const client = new NextClient({ name: "agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new NextTransport(url(server), { requestInit: { headers: headersOf(token) } }));
  onTestFinished(() => client.close());
  return { session, token, client };
}

describe("the official servers", () => {
  test("filesystem: an allowed call reads a file, and a denied one says why", async () => {
    const { client, session } = await connect("files");
    const read = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "note.txt") } });
    expect(textOf(read)).toBe("a note");
    const write = { name: "write_file", arguments: { path: join(folder, "other.txt"), content: "x" } };
    expect(textOf(await client.callTool(write))).toMatch(/TARGET_NOT_DECLARED/);
    const rows = await decisionsOf(stand, session);
    expect(rows.filter(({ decision }) => decision === "deny").map(({ target }) => target)).toEqual([
      "mcp:files/write_file",
    ]);
  });

  test("memory: what is created is read again", async () => {
    const { client } = await connect("memory");
    const entities = [{ name: "Ada", entityType: "person", observations: ["counts"] }];
    await client.callTool({ name: "create_entities", arguments: { entities } });
    expect(textOf(await client.callTool({ name: "read_graph" }))).toContain("counts");
  });

  test("neither a secret of theirs nor a word of what they write is in a log", async () => {
    await connect("memory");
    expect(stand.enforcementPoint.output()).not.toMatch(/planted-key|Knowledge Graph MCP Server|Secure MCP/);
  });
});

describe("a client of MCP 2026-07-28", () => {
  test("calls a server of that revision alone: list, call, denied call", async () => {
    const { client } = await connectNext("stateless");
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(tools.stateless);
    expect(textOf(await client.callTool({ name: "greet", arguments: { name: "Ada" } }))).toBe("hello Ada");
    await expect(client.callTool({ name: "secret", arguments: {} })).rejects.toThrow(/TARGET_NOT_DECLARED/);
  });

  test("initializes at a server of an earlier one", async () => {
    const { client } = await connectNext("files");
    expect(textOf(await client.callTool({ name: "list_directory", arguments: { path: folder } }))).toContain(
      "note.txt",
    );
  });

  test("a client of an earlier revision gets the server's own error", async () => {
    await expect(connect("stateless")).rejects.toThrow(/protocol version/i);
  });
});

const pidOf = async (client: NextClient): Promise<number> =>
  Number(textOf(await client.callTool({ name: "pid", arguments: {} })));
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("a session's process", () => {
  test("is its own, and ends when a decision finds the session revoked", async () => {
    const [one, other] = [await connectNext("stateless"), await connectNext("stateless")];
    const pids = [await pidOf(one.client), await pidOf(other.client)];
    expect(new Set(pids).size).toBe(2);
    await stand.api.call("POST", `/v1/sessions/${one.session}/revoke`, {
      bearer: stand.api.tokens.admin,
      body: { reason: "a test" },
    });
    await expect(pidOf(one.client)).rejects.toThrow(/SESSION_REVOKED/);
    await waitUntil("the process to end", () => !isRunning(pids[0] ?? 0));
    expect(isRunning(pids[1] ?? 0)).toBe(true);
  });

  test("in observe mode gets a call that enforcing would deny, and none without a decision", async () => {
    const { client, token } = await connectNext("watched");
    expect(textOf(await client.callTool({ name: "secret", arguments: {} }))).toBe("secret");
    const body = JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "no/class" },
      params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } },
    });
    const headers = { ...headersOf(token), "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };
    expect((await fetch(url("watched"), { method: "POST", headers, body })).status).toBe(403);
  });
});

// The last one: it ends the enforcement point.
test("a killed enforcement point leaves no process behind, not even one that outlives its input", async () => {
  const { client } = await connectNext("stubborn");
  const pid = await pidOf(client);
  stand.enforcementPoint.kill("SIGKILL");
  await stand.enforcementPoint.exited;
  await waitUntil("the process to end", () => !isRunning(pid));
});
