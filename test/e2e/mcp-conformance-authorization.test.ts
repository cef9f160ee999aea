import { type PeopleStack, resource, startPeopleStack } from "@svc/test-conformance/people-stack";
import { aTool, freePort, requires } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { suiteOfAuthorizationServer } from "./src/mcp/conformance-suite.ts";

const { test } = requires("redis-server");

let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", { expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] } });
});
afterAll(() => stack?.stop());

test("the official suite finds nothing amiss with the authorization server", async () => {
  const port = await freePort();
  const outcomes = await suiteOfAuthorizationServer(
    stack.issuer,
    { clientId: "suite", resource, port },
    async (url) => {
      const ada = stack.browser("ada");
      const back = await ada.submit(await ada.visit(url), { answer: "allow" });
      await (await fetch(back.url, { redirect: "manual" })).text();
    },
  );
  expect(outcomes).toEqual({
    "authorization-server-authorization-code-grant": ["authorization-code-grant: SUCCESS"],
    "authorization-server-authorization-server-metadata-endpoint": [
      "authorization-server-metadata-cimd: SUCCESS",
      "authorization-server-metadata: SUCCESS",
    ],
  });
});
