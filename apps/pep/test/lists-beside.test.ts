import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { startedMcpServer } from "./support/mcp-server.ts";
import { startedProtectedPep } from "./support/protected.ts";

const target = "mcp:files/delete_file";

async function setup(scope: string | string[]) {
  const server = await startedMcpServer();
  const upstream = { name: "files", url: server.url, protocol: "mcp", data_class: "docs", filter_tool_lists: true };
  const running = await startedProtectedPep({ upstreams: [{ ...upstream, oauth: { scope } }] });
  const { policies, sessionPolicies, beside } = running.controlPlane;
  for (const allowed of ["mcp:files", "mcp:files/read_file"]) policies.set(allowed, {});
  policies.set(target, { denyReason: "SCOPE_NOT_CONSENTED", consentableScopes: ["cleanup"] });
  const consent = async () => {
    const sessionId = randomUUID();
    await running.controlPlane.consent({ sessionId });
    sessionPolicies.set(`${sessionId} ${target}`, {});
    beside.push({ sessionId, scope: "cleanup" });
  };
  const connected = async (authorization: string) => {
    const client = new Client({ name: "agent", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${running.url}/files`), {
      requestInit: { headers: { authorization } },
    });
    onTestFinished(() => client.close());
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    return { client, listed: async () => (await client.listTools()).tools.map(({ name }) => name) };
  };
  return { ...running, consent, connected };
}

test("a filtered list holds the tools of a session beside once a call was sent there, before a double of the control plane", async () => {
  const { consent, connected, session } = await setup("expenses");
  const { client, listed } = await connected((await session()).authorization);
  await consent();
  expect(await listed()).toEqual(["read_file"]);
  await client.callTool({ name: "delete_file", arguments: { path: "/a" } });
  expect(await listed()).toEqual(["read_file", "delete_file"]);
});

test("to an access token it holds the tools of every scope of the login, before a double of the control plane", async () => {
  const { consent, connected, grant, controlPlane } = await setup(["expenses", "cleanup"]);
  const { authorization } = await grant("files");
  const { listed } = await connected(authorization);
  expect(await listed()).toEqual(["read_file"]);
  await consent();
  expect(await listed()).toEqual(["read_file", "delete_file"]);
  const asked = controlPlane.countOf("/v1/session/consents");
  expect(await listed()).toEqual(["read_file", "delete_file"]);
  expect(controlPlane.countOf("/v1/session/consents")).toBe(asked);
});
