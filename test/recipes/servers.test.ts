import { requires } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recipesOf } from "./src/recipes.ts";
import { asPrinted, openServersStand } from "./src/servers-stand.ts";

let stand: Awaited<ReturnType<typeof openServersStand>>;

beforeAll(async () => {
  stand = await openServersStand();
});
afterAll(() => stand?.stop());

describe("as the page has it, a server admits the one call that was decided for it:", () => {
  test.each(["express.mjs", "fastify.mjs", "hono.mjs", "koa.mjs", "fetch-handler.mjs", "nest.ts"])("%s", (name) =>
    stand.admitsOneCall(asPrinted(name)),
  );
  test("mcp-server.mjs", () =>
    stand.started(asPrinted("mcp-server.mjs"), async (origin) => {
      const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "read_note", arguments: {} } };
      const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answerTo = async (headers: Record<string, string> = {}) => {
        const sent = { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(message) };
        return (await fetch(`${origin}/mcp`, { ...sent, redirect: "manual" })).json();
      };
      expect(await answerTo()).toHaveProperty("error");
      expect(await answerTo(stand.right)).toHaveProperty("error");
      expect(await answerTo(stand.read)).toMatchObject({ id: 7, result: { content: [{ text: "a note" }] } });
    }));
  requires("PyJWT").test("server.py", () => stand.admitsOneCall(asPrinted("server.py")));
});

test("every recipe of the page is run here, or in on-demand.test.ts", () => {
  const shared = "verifier.mjs";
  const run = [
    ...["express.mjs", "fastify.mjs", "hono.mjs", "koa.mjs", "fetch-handler.mjs", "nest.ts", "mcp-server.mjs"],
    ...["server.py", "app/entries/[id]/route.js"],
  ];
  expect([...recipesOf("servers.md").keys()].toSorted()).toEqual([shared, ...run].toSorted());
});
