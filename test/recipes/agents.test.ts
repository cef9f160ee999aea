import { openStand, type Stand } from "@svc/test-conformance/stand";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "./src/model-server.ts";
import { startNotesServer } from "./src/notes-server.ts";
import { recipesOf, startRecipe } from "./src/recipes.ts";

let stand: Stand;
let notes: Awaited<ReturnType<typeof startNotesServer>>;
let model: ModelServer;

beforeAll(async () => {
  [notes, model] = await Promise.all([startNotesServer(), startModelServer("write_note")]);
  stand = await openStand({
    scopes: {
      work: {
        hop_budget: 2,
        tools: [
          { ref: "http:ledger/read_entry", data_classes: ["finance.entries"] },
          { ref: "mcp:notes/read_note", data_classes: ["docs"] },
        ],
      },
    },
    upstreams: (url) => [
      {
        ...{ name: "ledger", url },
        routes: [
          { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance.entries" },
        ],
      },
      { name: "notes", url: notes.url, protocol: "mcp", data_class: "docs", denials: "result" },
    ],
  });
});
afterAll(async () => {
  await stand?.stop();
  notes?.stop();
  model?.stop();
});

const recovered = /The tool said: .*a note/;

test.each([
  ["fetch.mjs", /^done\nblocked: no_route; call what its routes list/],
  ["mcp-sdk.mjs", /^true TARGET_NOT_DECLARED\na note\n$/],
  ["ai-sdk.mjs", recovered],
  ["langchain.mjs", recovered],
  ["openai-agents.mjs", recovered],
  ["mastra.mjs", recovered],
])("%s works as the page has it, and a denied tool call is no end", async (name, wanted) => {
  const { token } = await stand.api.consent("work");
  const env = {
    PEP_URL: stand.enforcementPoint.url,
    AGENT_TOKEN: token,
    MODEL_URL: model.url,
    MODEL_KEY: "none",
    MASTRA_TELEMETRY_DISABLED: "1",
  };
  const child = await startRecipe("agents.md", name, env);
  expect([await child.exited, child.output()]).toEqual([0, expect.stringMatching(wanted)]);
});

test("every recipe of the page is run here", () => {
  expect([...recipesOf("agents.md").keys()].sort()).toEqual(
    ["ai-sdk.mjs", "fetch.mjs", "langchain.mjs", "mastra.mjs", "mcp-sdk.mjs", "openai-agents.mjs"].sort(),
  );
});
