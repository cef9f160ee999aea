import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { redirectUri } from "@svc/test-conformance/people-stack";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startFirst, startSecond } from "./src/mcp/eras/servers.ts";
import { type GuardedServer, scopes, startGuardedServer } from "./src/oauth/guarded-server.ts";
import { MemoryProvider } from "./src/oauth/memory-provider.ts";

/** A client of either SDK, as these tests need it. */
interface StockClient {
  call(name: string, args?: Record<string, unknown>): Promise<unknown>;
}

const capabilities = { elicitation: { form: {}, url: {} } };
const info = { name: "notebook", version: "1" };

/** @param opened what the person does with an address that the client opens */
type Connect = (url: URL, provider: MemoryProvider, opened: (url: string) => Promise<void>) => Connecting;

interface Connecting {
  /** Rejects where a login is needed. */
  connect(): Promise<StockClient>;
  finish(callback: URL): Promise<void>;
}

const first: Connect = (url, provider) => {
  const newTransport = () => new FirstTransport(url, { authProvider: provider as never });
  const asking = newTransport();
  return {
    async connect() {
      const client = new FirstClient(info, { capabilities });
      await client.connect(newTransport() as Parameters<FirstClient["connect"]>[0]);
      onTestFinished(() => client.close());
      return { call: (name, args = {}) => client.callTool({ name, arguments: args }) };
    },
    finish: ({ searchParams }) => asking.finishAuth(searchParams.get("code") ?? ""),
  };
};

const second: Connect = (url, provider, opened) => {
  const newTransport = () => new SecondTransport(url, { authProvider: provider as never });
  const asking = newTransport();
  return {
    async connect() {
      const client = new SecondClient(info, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
      client.setRequestHandler("elicitation/create", async ({ params }) => {
        await opened(String((params as { url?: string }).url));
        return { action: "accept" };
      });
      await client.connect(newTransport());
      onTestFinished(() => client.close());
      return { call: (name, args = {}) => client.callTool({ name, arguments: args }) };
    },
    finish: ({ searchParams }) => asking.finishAuth(searchParams),
  };
};

describe.each([
  ["1.x", () => startFirst(), first],
  ["2.x", () => startSecond("reject"), second],
] as const)("a stock client of the MCP SDK %s, with a real control plane and provider", (_name, startServer, begin) => {
  let guarded: GuardedServer;
  beforeAll(async () => {
    guarded = await startGuardedServer(await startServer());
  });
  afterAll(() => guarded?.stop());

  /** A person allows, and the browser comes back to the client. */
  async function allow(address: string | URL): Promise<URL> {
    const ada = guarded.browser("ada");
    const page = await ada.visit(address);
    return (await ada.submit(page, { answer: "allow" })).url;
  }

  async function loggedIn() {
    const provider = new MemoryProvider(redirectUri);
    const connecting = begin(new URL(guarded.resource), provider, async (url) => void (await allow(url)));
    await expect(connecting.connect()).rejects.toThrow();
    await connecting.finish(await allow(provider.asked ?? ""));
    const client = await connecting.connect();
    return { provider, connecting, client };
  }

  test("goes from a bare URL to a called tool through the browser, and holds no token of a hop", async () => {
    const { provider, client } = await loggedIn();
    expect(provider.asked?.searchParams.get("resource")).toBe(guarded.resource);
    expect(provider.asked?.searchParams.get("scope")).toBe(scopes.login);
    expect(await client.call("echo", { said: "hello" })).toMatchObject({ content: [{ text: "hello" }] });
    expect(provider.kept?.access_token).toMatch(/^svc_at_/);
    expect(decodeUnverifiedHopToken(provider.kept?.access_token ?? "")).toBeUndefined();
    expect(provider.logins).toBe(1);
  });

  test("with an access token that is no longer good refreshes it, without its person", async () => {
    const { provider, client } = await loggedIn();
    const { access_token: before } = provider.kept ?? {};
    if (provider.kept) provider.kept = { ...provider.kept, access_token: `svc_at_${"A".repeat(43)}` };
    expect(await client.call("echo", { said: "again" })).toMatchObject({ content: [{ text: "again" }] });
    expect(provider.kept?.access_token).toMatch(/^svc_at_/);
    expect(provider.kept?.access_token).not.toBe(before);
    expect(provider.logins).toBe(1);
  });

  test("whose person ended the session logs in again", async () => {
    const { provider, client, connecting } = await loggedIn();
    await client.call("echo", { said: "before" });
    const session = await guarded.redeem(provider.kept?.access_token ?? "", guarded.resource);
    expect((await guarded.endSession(session.body.session_id)).status).toBeLessThan(300);
    await expect(client.call("echo", { said: "after" })).rejects.toThrow();
    expect(provider.logins).toBe(2);
    await connecting.finish(await allow(provider.asked ?? ""));
    const next = await connecting.connect();
    expect(await next.call("echo", { said: "anew" })).toMatchObject({ content: [{ text: "anew" }] });
  });

  test("is asked for the consent that a denied call lacks, and the call then reaches its tool", async () => {
    const { client, provider } = await loggedIn();
    const call = () => client.call("guarded");
    const reached = await call().catch(async (error: { data?: { elicitations?: { url: string }[] } }) => {
      const [asked] = error.data?.elicitations ?? [];
      if (!asked) throw error;
      await allow(asked.url);
      return call();
    });
    expect(reached).toMatchObject({ content: [{ text: "reached" }] });
    expect(await client.call("echo", { said: "still here" })).toMatchObject({ content: [{ text: "still here" }] });
    expect(provider.logins).toBe(1);
  });

  test("never has its access token in a log of the enforcement point", async () => {
    const { client, provider } = await loggedIn();
    await client.call("echo", { said: "hello" });
    const secret = provider.kept?.access_token.slice("svc_at_".length) ?? "";
    expect(secret).toHaveLength(43);
    expect(guarded.enforcementPoint.output()).toContain("call forwarded");
    expect(guarded.enforcementPoint.output()).not.toContain(secret);
  });
});
