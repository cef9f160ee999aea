import { openStand } from "@svc/test-conformance/stand";
import { afterAll, describe, expect, test } from "vitest";
import { connectFirst, connectSecond } from "./src/mcp/eras/clients.ts";
import { startFirst, startSecond } from "./src/mcp/eras/servers.ts";
import { agentLoop, type Model, type Observation, readingData, readingText } from "./src/mcp/scripted-model.ts";
import { decisionsOf } from "./src/pep/record.ts";

const servers = { legacy: await startFirst(), modern: await startSecond("reject") };
const clients = { legacy: connectFirst, modern: connectSecond({ pin: "2026-07-28" }) };
type Era = keyof typeof servers;
const eras = Object.keys(servers) as Era[];
const forms = ["error", "result"] as const;
const names = eras.flatMap((era) => forms.map((denials) => ({ name: `${era}-${denials}`, era, denials })));

/** Of each server `echo` alone is declared; its list is not filtered, as a model may know tools from elsewhere. */
const stand = await openStand({
  scopes: {
    work: { hop_budget: 2, tools: names.map(({ name }) => ({ ref: `mcp:${name}/echo`, data_classes: ["docs"] })) },
  },
  upstreams: () =>
    names.map(({ name, era, denials }) => ({
      ...{ name, ...servers[era].at, protocol: "mcp", data_class: "docs", denials },
    })),
});
afterAll(async () => {
  await stand.stop();
  await Promise.all(Object.values(servers).map((server) => server.stop()));
});

interface ToolResult {
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
  readonly _meta?: { readonly "svc/denial"?: Record<string, unknown> };
}

/** A result as a model sees it, and an error as every agent's loop shows it to its model. */
async function observed(calling: Promise<unknown>): Promise<Observation> {
  try {
    const { content, isError = false, _meta } = (await calling) as ToolResult;
    return { text: content.map(({ text }) => text).join("\n"), isError, data: _meta?.["svc/denial"] };
  } catch (error) {
    const { message, data } = error as Error & { data?: Record<string, unknown> };
    return { text: message, isError: true, data };
  }
}

const models: [string, (first: string) => Model][] = [
  ["text", readingText],
  ["data", readingData],
];

describe.each(names)(
  "a model whose denials are an $denials, over a client and server of the $era era,",
  ({ name, era }) => {
    test.each(models)("that reads their %s alone recovers by a tool that it may call", async (_part, model) => {
      const { session, token } = await stand.api.consent("work");
      const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };
      const client = await clients[era]({ url: `${stand.enforcementPoint.url}/${name}` }, headers);
      const tools = (await client.listTools()).tools.map((tool) => tool.name);
      // The model fills in the argument that every tool here takes, or ignores.
      const turns = await agentLoop(model("guarded"), tools, (tool) =>
        observed(client.callTool(tool, { said: "recovered" })),
      );
      await client.close();

      expect(turns.at(-1)).toMatchObject({ tool: "echo", seen: { isError: false, text: "recovered" } });
      const [denied] = turns;
      const link = "docs/troubleshooting.md#target_not_declared";
      const facts = { target: `mcp:${name}/guarded`, reason: "TARGET_NOT_DECLARED", link };
      expect(denied).toMatchObject({ tool: "guarded", seen: { isError: true, data: facts } });
      const recorded = (await decisionsOf(stand, session)).find(({ target }) => target === facts.target);
      for (const said of [facts.target, facts.reason, link, String(recorded?.action_id)]) {
        expect(denied?.seen.text).toContain(said);
      }
      expect(denied?.seen.data?.action_id).toBe(recorded?.action_id);
    });
  },
);
