import { AuthzClient, type Grant, hopContext } from "@svc/client";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { freePort, requires, testBearers, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recipesOf, startRecipe } from "./src/recipes.ts";

const dataClass = "finance.entries";
const refs = ["http:ledger/read_entry", "http:ledger/other_entry"] as const;
const note = { target: "mcp:notes/read_note", targetKind: "tool", dataClass: "docs" } as const;
let stand: Stand;
let svc: AuthzClient;
let granted: readonly Grant[];

beforeAll(async () => {
  stand = await openStand({
    scopes: {
      work: {
        hop_budget: 2,
        tools: [
          ...refs.map((ref) => ({ ref, data_classes: [dataClass] })),
          { ref: note.target, data_classes: [note.dataClass] },
        ],
      },
    },
    upstreams: () => [],
  });
  svc = new AuthzClient({ baseUrl: stand.api.url });
  const { session, token } = await stand.api.consent("work");
  const context = hopContext(session, token);
  const calls = refs.map((target) => ({ target, targetKind: "tool", dataClass }) as const);
  granted = await Promise.all([...calls, note].map((call) => svc.authorize(context, call)));
});
afterAll(async () => {
  await svc?.close();
  await stand?.stop();
});

/** Starts a server of the page, and passes its address on once it listens. */
async function started(name: string, use: (origin: string) => Promise<void>): Promise<void> {
  const port = String(await freePort());
  const env = { SVC_CONTROL_PLANE_URL: stand.api.url, SVC_IDENTITY_TOKEN: testBearers.identity, PORT: port };
  const server = await startRecipe("servers.md", name, env);
  const origin = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(origin).then(
      () => true,
      () => server.hasExited(),
    );
  try {
    await waitUntil("the server to listen", isUp);
    expect(server.hasExited(), server.output()).toBe(false);
    await use(origin);
  } finally {
    await server.stop();
  }
}

const served = (name: string): Promise<void> =>
  started(name, async (origin) => {
    const call = (headers: Record<string, string> = {}) => fetch(`${origin}/entries/7`, { headers });
    const [right, other] = granted.map((grant) => grant.headers());
    expect((await call()).status).toBe(401);
    expect((await call(other)).status).toBe(401);
    expect((await call({ ...right, "x-svc-session": "another" })).status).toBe(401);
    const admitted = await call(right);
    expect([admitted.status, await admitted.json()]).toEqual([200, { id: "7", caller: expect.any(String) }]);
  });

describe("as the page has it, a server admits the one call that was decided for it:", () => {
  test.each(["express.mjs", "fastify.mjs", "hono.mjs", "koa.mjs", "fetch-handler.mjs", "nest.ts"])("%s", served);
  test("mcp-server.mjs", () =>
    started("mcp-server.mjs", async (origin) => {
      const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "read_note", arguments: {} } };
      const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answerTo = async (headers: Record<string, string> = {}) => {
        const sent = { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(message) };
        return (await fetch(`${origin}/mcp`, sent)).json();
      };
      const [entry, , read] = granted.map((grant) => grant.headers());
      expect(await answerTo()).toHaveProperty("error");
      expect(await answerTo(entry)).toHaveProperty("error");
      expect(await answerTo(read)).toMatchObject({ id: 7, result: { content: [{ text: "a note" }] } });
    }));
  requires("PyJWT").test("server.py", () => served("server.py"));
});

test("every recipe of the page is run here", () => {
  const shared = "verifier.mjs";
  const run = [
    "express.mjs",
    "fastify.mjs",
    "hono.mjs",
    "koa.mjs",
    "fetch-handler.mjs",
    "nest.ts",
    "mcp-server.mjs",
    "server.py",
  ];
  expect([...recipesOf("servers.md").keys()].toSorted()).toEqual([shared, ...run].toSorted());
});
