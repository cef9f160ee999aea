import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStand } from "@svc/test-conformance/stand";
import { programOf, startChild, testBearers } from "@svc/test-support";
import { startModelServer } from "./model-server.ts";
import { startNotesServer } from "./notes-server.ts";
import { placeRecipe, type RecipePlace, startRecipe } from "./recipes.ts";

/** What a program prints that was denied a call, and called what the denial names. */
export const recovered = /The tool said: .*a note/;
/** Of the programs without a model. */
export const deniedThenRead = /^[Tt]rue TARGET_NOT_DECLARED\na note\n$/m;

/** The enforcement point of the page, with an agent that may read a note and not write one, and a model that writes first. */
export async function openAgentsStand() {
  const folder = mkdtempSync(join(tmpdir(), "svc-recipes-"));
  const [notes, model] = await Promise.all([startNotesServer(), startModelServer("write_note")]);
  const entry = { ...{ protocol: "mcp", data_class: "docs", denials: "result" }, url: notes.url };
  const stand = await openStand({
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
      { name: "notes", ...entry },
    ],
  });
  const upstreams = join(folder, "pep.json");
  writeFileSync(upstreams, JSON.stringify({ upstreams: [{ name: "notes", hosts: ["notes.internal"], ...entry }] }));
  return {
    /** Runs a program of the page with a token. @returns its exit code and output */
    async byAddress(name: string, place?: RecipePlace) {
      const { token } = await stand.api.consent("work");
      const { url } = stand.enforcementPoint;
      const env = {
        ...{ PEP_URL: url, NOTES_URL: `${url}/notes`, AGENT_TOKEN: token },
        ...{ MODEL_URL: model.url, MODEL_KEY: "none", MASTRA_TELEMETRY_DISABLED: "1" },
        ...{ ANTHROPIC_BASE_URL: model.origin, ANTHROPIC_API_KEY: "none", HOME: folder },
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      };
      const child = await startRecipe("agents.md", name, env, place);
      return [await child.exited, child.output()];
    },
    /** The same under `svc run`, without a token, to the server's own address. @returns its exit code and output */
    async byProxyVariables(name: string, place?: RecipePlace) {
      const env = {
        ...{ PATH: process.env.PATH, HOME: folder, NOTES_URL: "http://notes.internal/mcp" },
        ...{ SVC_CONTROL_PLANE_URL: stand.api.url, SVC_ADMIN_TOKEN: testBearers.admin },
      };
      const run = ["run", "--scope", "work", "--user", "ada", "--upstreams", upstreams];
      const program = await placeRecipe("agents.md", name, place);
      const child = startChild(process.execPath, [programOf("@svc/cli/main"), ...run, "--", ...program], { env });
      return [await child.exited, child.output()];
    },
    async stop() {
      await stand.stop();
      notes.stop();
      model.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
