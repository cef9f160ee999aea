import { AuthzClient, type Grant, hopContext } from "@svc/client";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { freePort, requires, testBearers, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recipesOf, startRecipe } from "./src/recipes.ts";

const dataClass = "finance.entries";
const refs = ["http:ledger/read_entry", "http:ledger/other_entry"] as const;
let stand: Stand;
let svc: AuthzClient;
let granted: readonly Grant[];

beforeAll(async () => {
  stand = await openStand({
    scopes: { work: { hop_budget: 2, tools: refs.map((ref) => ({ ref, data_classes: [dataClass] })) } },
    upstreams: () => [],
  });
  svc = new AuthzClient({ baseUrl: stand.api.url });
  const { session, token } = await stand.api.consent("work");
  const context = hopContext(session, token);
  granted = await Promise.all(refs.map((target) => svc.authorize(context, { target, targetKind: "tool", dataClass })));
});
afterAll(async () => {
  await svc?.close();
  await stand?.stop();
});

async function served(name: string): Promise<void> {
  const port = String(await freePort());
  const env = { SVC_CONTROL_PLANE_URL: stand.api.url, SVC_IDENTITY_TOKEN: testBearers.identity, PORT: port };
  const server = startRecipe("servers.md", name, env);
  const url = `http://127.0.0.1:${port}/entries/7`;
  const call = (headers: Record<string, string> = {}) => fetch(url, { headers });
  const isUp = () =>
    call().then(
      () => true,
      () => server.hasExited(),
    );
  try {
    await waitUntil("the server to listen", isUp);
    expect(server.hasExited(), server.output()).toBe(false);
    const [right, other] = granted.map((grant) => grant.headers());
    expect((await call()).status).toBe(401);
    expect((await call(other)).status).toBe(401);
    expect((await call({ ...right, "x-svc-session": "another" })).status).toBe(401);
    const admitted = await call(right);
    expect([admitted.status, await admitted.json()]).toEqual([200, { id: "7", caller: expect.any(String) }]);
  } finally {
    await server.stop();
  }
}

describe("as the page has it, a server admits the one call that was decided for it:", () => {
  test.each(["express.mjs", "fastify.mjs", "hono.mjs", "koa.mjs", "fetch-handler.mjs"])("%s", served);
  requires("PyJWT").test("server.py", () => served("server.py"));
});

test("every recipe of the page is run here", () => {
  const shared = "verifier.mjs";
  const run = ["express.mjs", "fastify.mjs", "hono.mjs", "koa.mjs", "fetch-handler.mjs", "server.py"];
  expect([...recipesOf("servers.md").keys()].toSorted()).toEqual([shared, ...run].toSorted());
});
