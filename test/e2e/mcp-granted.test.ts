import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectAgent } from "./src/mcp/agent.ts";
import { type EverythingStand, everyTool, openEverything, partly, someTools } from "./src/mcp/everything.ts";
import { decisionsOf } from "./src/pep/record.ts";

let stand: EverythingStand;
beforeAll(async () => {
  stand = await openEverything();
});
afterAll(() => stand?.stop());

async function credential() {
  const { session, token } = await stand.api.consent(partly);
  const url = `${stand.enforcementPoint.url}/${partly}`;
  return { session, url, headers: { authorization: `Bearer ${token}`, "x-svc-session": session } };
}

async function agent() {
  const { session, url, headers } = await credential();
  return { ...(await connectAgent(url, headers)), session };
}

/** Sends messages unchanged. */
async function poster() {
  const { url, headers } = await credential();
  const json = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  return (body: string) => fetch(url, { method: "POST", headers: { ...headers, ...json }, body });
}

const denied = everyTool.filter((name) => !(someTools as readonly string[]).includes(name));

describe("the official client, with two granted tools of the official server,", () => {
  test("lists these two, with the server's own descriptions", async () => {
    const { client, close } = await agent();
    const direct = await connectAgent(stand.directUrl, {});
    const all = (await direct.client.listTools()).tools;
    const shown = (await client.listTools()).tools;
    expect(shown).toEqual(all.filter(({ name }) => (someTools as readonly string[]).includes(name)));
    expect(all).toHaveLength(everyTool.length);
    await Promise.all([close(), direct.close()]);
  });

  test("calls them, including the privileged one", async () => {
    const { client, close, session } = await agent();
    const sum = await client.callTool({ name: "get-sum", arguments: { a: 1, b: 2 } });
    expect(sum.content).toMatchObject([{ text: expect.stringContaining("3") }]);
    const echo = await client.callTool({ name: "echo", arguments: { message: "m" } });
    expect(echo.content).toMatchObject([{ text: "Echo: m" }]);
    const spent = (await decisionsOf(stand, session)).filter(({ spent_at }) => spent_at !== null);
    expect(spent.map(({ target }) => target)).toEqual(
      expect.arrayContaining(someTools.map((name) => `mcp:${partly}/${name}`)),
    );
    await close();
  });

  test("gets an error for a call to any other tool, and nothing is spent", async () => {
    const { client, close, session } = await agent();
    for (const name of denied) {
      await expect(client.callTool({ name }), name).rejects.toMatchObject({
        code: -32_010,
        data: { code: "policy", deny_reason: "TARGET_NOT_DECLARED", recoverable: false },
      });
    }
    const denials = (await decisionsOf(stand, session)).filter(({ decision }) => decision === "deny");
    expect(denials.filter(({ spent_at }) => spent_at !== null)).toEqual([]);
    expect(denials.map(({ target }) => target).sort()).toEqual(denied.map((name) => `mcp:${partly}/${name}`).sort());
    await client.ping();
    await close();
  });

  test("gets an error for methods that are not configured, and its session continues", async () => {
    const { client, close } = await agent();
    await expect(client.listResources()).rejects.toMatchObject({ code: -32_603, data: { code: "unresolvable_call" } });
    await expect(client.listPrompts()).rejects.toMatchObject({ code: -32_603, data: { code: "unresolvable_call" } });
    await client.ping();
    await close();
  });
});

describe("a denial has the id of its request, as sent", () => {
  // A request that is refused before it is forwarded needs no MCP session.
  const ids = ['"a string"', '""', '"7"', '"9007199254740993"', '"\\u00fc"', "0", "7", "-1", "1.5", "9007199254740991"];

  test.each(ids)("%s", async (id) => {
    const post = await poster();
    const response = await post(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"get-env"}}`);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([200, "policy"]);
    expect(await response.json()).toMatchObject({ id: JSON.parse(id), error: { code: -32_010 } });
  });

  test.each(["9007199254740993", "1e400", "null", "true", "[1]", "{}"])(
    "but for the id %s it is a status without an id",
    async (id) => {
      const post = await poster();
      const response = await post(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo"}}`);
      expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([400, "unresolvable_call"]);
      expect(await response.json()).not.toHaveProperty("id");
    },
  );
});
