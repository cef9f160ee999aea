import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { waitUntil } from "@svc/test-support";
import { describe, expect, onTestFinished, test } from "vitest";
import { enforcementToken, entryAgent } from "./support/control-plane-routes.ts";
import { startedMcpServer } from "./support/mcp-server.ts";
import { startedPep } from "./support/pep.ts";

const target = "mcp:files/delete_file";
const consentUrl = "https://authz.example/consent?ask=sealed";
const denied = { denyReason: "SCOPE_NOT_CONSENTED", consentableScopes: ["cleanup"], consentUrl };
const call = { name: "delete_file", arguments: { path: "/a" } };

async function setup(server: { readonly url: string }, more: object = {}, consentWaitMs = 20_000) {
  const running = await startedPep({
    upstreams: [{ name: "files", url: server.url, protocol: "mcp", data_class: "docs", ...more }],
    settings: { SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken },
    limits: { consentWaitMs, consentPollMs: 20 },
  });
  const { policies, sessionPolicies, beside } = running.controlPlane;
  for (const allowed of [entryAgent, "mcp:files"]) policies.set(allowed, {});
  policies.set(target, denied);
  const consent = async () => {
    const sessionId = randomUUID();
    await running.controlPlane.consent({ sessionId });
    sessionPolicies.set(`${sessionId} ${target}`, {});
    beside.push({ sessionId, scope: "cleanup" });
  };
  return { ...running, consent, headers: await running.session() };
}

type Elicitation = Record<string, Record<string, never>>;
const url: Elicitation = { form: {}, url: {} };

describe("to a client of SDK 1.x (2025-11-25), before a double of the control plane", () => {
  async function connected(elicitation: Elicitation | undefined, more: object = {}) {
    const server = await startedMcpServer({ json: true });
    const running = await setup(server, more);
    const client = new FirstClient(
      { name: "agent", version: "1" },
      { capabilities: elicitation ? { elicitation } : {} },
    );
    onTestFinished(() => client.close());
    const transport = new FirstTransport(new URL(`${running.url}/files`), {
      requestInit: { headers: running.headers },
    });
    await client.connect(transport as Parameters<FirstClient["connect"]>[0]);
    return { ...running, server, client };
  }

  test.each(["error", "result"])(
    "that opens addresses a deny is URL elicitation, with denials: %s",
    async (denials) => {
      const { client, consent, server } = await connected(url, { denials });
      const error = await client.callTool(call).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UrlElicitationRequiredError);
      expect(error).toMatchObject({
        elicitations: [
          {
            mode: "url",
            url: consentUrl,
            elicitationId: expect.any(String),
            message: expect.stringContaining("cleanup"),
          },
        ],
      });
      await consent();
      expect((await client.callTool(call)).content).toEqual([{ type: "text", text: "delete_file of /a" }]);
      expect(server.ran).toEqual(["delete_file /a"]);
    },
  );

  test.each([
    ["no elicitation", undefined],
    ["forms alone", { form: {} }],
  ])("that declared %s a deny has the page in its message and data", async (_name, elicitation) => {
    const { client } = await connected(elicitation);
    await expect(client.callTool(call)).rejects.toMatchObject({
      code: -32_010,
      message: expect.stringContaining(consentUrl),
      data: { consent_url: consentUrl },
    });
  });

  test("another session's declaration does not count", async () => {
    const { url: at, headers } = await connected(url);
    const response = await fetch(`${at}/files`, {
      method: "POST",
      headers: { ...headers, "mcp-session-id": randomUUID(), "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
    });
    expect(await response.json()).toMatchObject({ error: { code: -32_010 } });
  });

  test("another deny is no elicitation", async () => {
    const { client, controlPlane } = await connected(url);
    controlPlane.policies.set(target, { denyReason: "TAINT_BLOCKED" });
    await expect(client.callTool(call)).rejects.toMatchObject({ code: -32_010 });
  });
});

/** A server of 2026-07-28 alone. */
async function modernServer() {
  const ran: string[] = [];
  const newServer = () => {
    const server = new McpServer({ name: "files", version: "1" });
    server.registerTool("delete_file", {}, () => {
      ran.push("delete_file");
      return { content: [{ type: "text" as const, text: "deleted" }] };
    });
    return server;
  };
  const handler = createMcpHandler(newServer, { legacy: "reject" });
  const http = createServer(toNodeHandler(handler) as Parameters<typeof createServer>[1]);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, ran };
}

describe("to a client of SDK 2.x (2026-07-28), before a double of the control plane", () => {
  type Answer = { action: "accept" | "decline" };
  async function connected(
    elicitation: Elicitation | undefined,
    answer: (before: number) => Answer,
    consentWaitMs?: number,
  ) {
    const server = await modernServer();
    const running = await setup(server, {}, consentWaitMs);
    const asked: unknown[] = [];
    const client = new SecondClient(
      { name: "agent", version: "1" },
      { capabilities: elicitation ? { elicitation } : {}, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    if (elicitation) {
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params);
        return answer(asked.length - 1);
      });
    }
    onTestFinished(() => client.close());
    await client.connect(
      new SecondTransport(new URL(`${running.url}/files`), { requestInit: { headers: running.headers } }),
    );
    return { ...running, server, client, asked, call: () => client.callTool({ name: "delete_file" }) };
  }

  test("that opens addresses a deny requires input, and the call is forwarded once the person has consented", async () => {
    const page: { consent?: () => Promise<void> } = {};
    const accepted = () => {
      // The person opens the page, and consents a while after the client has repeated its call.
      setTimeout(() => void page.consent?.(), 200);
      return { action: "accept" } as const;
    };
    const { call: run, consent, asked, server, controlPlane } = await connected(url, accepted);
    page.consent = consent;
    expect((await run()).content).toEqual([{ type: "text", text: "deleted" }]);
    expect(asked).toEqual([{ mode: "url", url: consentUrl, message: expect.stringContaining("cleanup") }]);
    expect(server.ran).toEqual(["delete_file"]);
    expect(controlPlane.countOf("/v1/session/consents")).toBeGreaterThan(2);
  });

  test("whose person does not consent is asked again after a while", async () => {
    const answers = ["accept", "decline"] as const;
    const { call: run, asked } = await connected(url, (before) => ({ action: answers[before] ?? "decline" }), 200);
    await expect(run()).rejects.toMatchObject({ code: -32_010 });
    expect(asked).toHaveLength(2);
  });

  test("waits for a consent with four calls at most", async () => {
    const { url: at, headers, consent } = await connected(url, () => ({ action: "decline" }));
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
    };
    const inputResponses = { "svc/consent": { action: "accept" } };
    const params = { name: "delete_file", arguments: {}, inputResponses, _meta };
    let waiting = 6;
    const calls = Array.from({ length: waiting }, async (_, id) => {
      const response = await fetch(`${at}/files`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
      });
      waiting -= 1;
      return response.headers.get("x-svc-blocked");
    });
    await waitUntil("two that do not wait", () => waiting === 4);
    await consent();
    expect((await Promise.all(calls)).sort()).toEqual([null, null, null, null, "policy", "policy"]);
  });

  test("whose person declines gets the deny", async () => {
    const { call: run, asked, server } = await connected(url, () => ({ action: "decline" }));
    await expect(run()).rejects.toMatchObject({ code: -32_010, data: { consent_url: consentUrl } });
    expect([asked.length, server.ran]).toEqual([1, []]);
  });

  test.each([
    ["no elicitation", undefined],
    ["forms alone", { form: {} }],
  ])("that declared %s a deny has the page in its message and data", async (_name, elicitation) => {
    const { call: run } = await connected(elicitation, () => ({ action: "accept" }));
    await expect(run()).rejects.toMatchObject({
      code: -32_010,
      message: expect.stringContaining(consentUrl),
      data: { consent_url: consentUrl },
    });
  });
});
