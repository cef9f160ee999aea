import { aTool, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { raiseEpoch } from "../src/issuer-keys.ts";
import { logInClient, type PeopleStack, startPeopleStack } from "../src/people-stack.ts";
import { asOwner } from "../src/stack.ts";

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack.stop());

const count = () => asOwner(stack.database, async (sql) => Number((await sql`select count from witness`)[0]?.count));
const setCount = (to: number) => asOwner(stack.database, (sql) => sql`update witness set count = ${to}`);
const readiness = async () => (await stack.api.call("GET", "/readyz")).status;

async function refreshed(token: string | undefined) {
  const response = await fetch(`${stack.issuer}/oauth/token`, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token ?? "", client_id: "notebook" }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("no token is issued from a restored database until that is acknowledged, and the refused refresh token stays good", async () => {
  const { tokens } = await logInClient(stack);
  const before = await count();
  await setCount(before + 1_000);
  await waitUntil("the cache store to learn the newer count", async () => (await count()) > before + 1_002);
  await setCount(before);
  await waitUntil("the restore to be noticed", async () => (await readiness()) === 503);
  expect(await refreshed(tokens.refresh_token)).toMatchObject({
    status: 503,
    body: { error: { code: "restore_unacknowledged" } },
  });

  await setCount(before + 2_000);
  await waitUntil("the newest database to serve again", async () => (await readiness()) === 200);
  const next = await refreshed(tokens.refresh_token);
  expect(next.status).toBe(200);

  await raiseEpoch(stack.api);
  expect(await refreshed(String(next.body.refresh_token))).toMatchObject({
    status: 400,
    body: { error: "invalid_grant" },
  });
});
