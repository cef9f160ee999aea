import { requires } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deniedThenRead, openAgentsStand, recovered } from "./src/agents-stand.ts";
import { recipesOf } from "./src/recipes.ts";

let stand: Awaited<ReturnType<typeof openAgentsStand>>;

beforeAll(async () => {
  stand = await openAgentsStand();
});
afterAll(() => stand?.stop());

test.each([
  ["fetch.mjs", /^done\nblocked: no_route; call what its routes list/],
  ["mcp-sdk.mjs", deniedThenRead],
  ["ai-sdk.mjs", recovered],
  ["langchain.mjs", recovered],
  ["openai-agents.mjs", recovered],
  ["mastra.mjs", recovered],
])("%s works as the page has it, and a denied tool call is no end", async (name, wanted) => {
  expect(await stand.byAddress(name)).toEqual([0, expect.stringMatching(wanted)]);
});

requires("python3").test.each([["byAddress"], ["byProxyVariables"]] as const)(
  "mcp-stdlib.py works as the page has it, %s",
  async (way) => {
    expect(await stand[way]("mcp-stdlib.py")).toEqual([0, expect.stringMatching(deniedThenRead)]);
  },
);

test("every recipe of the page is run here, or in on-demand.test.ts", () => {
  expect([...recipesOf("agents.md").keys()].sort()).toEqual(
    [
      ...["ai-sdk.mjs", "fetch.mjs", "langchain.mjs", "mastra.mjs", "mcp-sdk.mjs", "mcp-stdlib.py"],
      ...["openai-agents.mjs", "claude-agent.mjs", "mcp-sdk.py"],
    ].sort(),
  );
});
