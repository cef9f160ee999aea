import { join } from "node:path";
import { startChild } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deniedThenRead, openAgentsStand, recovered } from "./src/agents-stand.ts";
import { installLibraries, pythonWithMcp } from "./src/on-demand.ts";
import { placeRecipe } from "./src/recipes.ts";
import { openServersStand, type Start } from "./src/servers-stand.ts";

/** Recipes whose libraries are large, or come from another registry: they are installed when these tests run. */
const folder = installLibraries();
const python = pythonWithMcp();

describe("as the page has it,", () => {
  let stand: Awaited<ReturnType<typeof openAgentsStand>>;
  beforeAll(async () => {
    stand = await openAgentsStand();
  });
  afterAll(() => stand?.stop());

  test("the Claude Agent SDK recovers from a denied tool call: claude-agent.mjs", async () => {
    expect(await stand.byAddress("claude-agent.mjs", { folder })).toEqual([0, expect.stringMatching(recovered)]);
  });

  const unavailable = python === undefined ? " (skipped: pip cannot install the package mcp here)" : "";
  test.skipIf(python === undefined).each([["byAddress"], ["byProxyVariables"]] as const)(
    `Python's MCP SDK works, %s: mcp-sdk.py${unavailable}`,
    async (way) => {
      expect(await stand[way]("mcp-sdk.py", { python })).toEqual([0, expect.stringMatching(deniedThenRead)]);
    },
  );
});

describe("as the page has it, a server admits the one call that was decided for it:", () => {
  let stand: Awaited<ReturnType<typeof openServersStand>>;
  beforeAll(async () => {
    stand = await openServersStand();
  });
  afterAll(() => stand?.stop());

  test("app/entries/[id]/route.js, by Next.js", () => stand.admitsOneCall(nextServer));
});

const nextServer: Start = async (env) => {
  await placeRecipe("servers.md", "app/entries/[id]/route.js", { folder });
  const next = join(folder, "node_modules/next/dist/bin/next");
  const args = ["dev", "--hostname", "127.0.0.1", "--port", env.PORT ?? ""];
  // Without HOME, which would be the end of where it looks for libraries.
  const own = { PATH: process.env.PATH, NEXT_TELEMETRY_DISABLED: "1" };
  return startChild(process.execPath, [next, ...args], { cwd: folder, env: { ...own, ...env } });
};
