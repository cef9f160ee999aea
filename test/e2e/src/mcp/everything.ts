import { fileURLToPath } from "node:url";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { freePort, startChild, waitUntil } from "@svc/test-support";

/** What the official server for all of MCP offers to a client with every capability. */
export const everyTool = [
  ...["echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-roots-list"],
  ...["get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "simulate-research-query"],
  ...["toggle-simulated-logging", "toggle-subscriber-updates", "trigger-elicitation-request"],
  ...["trigger-elicitation-request-async", "trigger-long-running-operation", "trigger-sampling-request"],
  ...["trigger-sampling-request-async", "trigger-url-elicitation"],
] as const;

/** Declared, so that the server itself reports the unknown tool. */
export const absentTool = "no-such-tool";

/** Every client request beside those of the session and `tools/call`. */
const everyMethod = [
  ...["resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe"],
  ...["prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
  ...["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"],
] as const;

/** Granted to a restricted agent; the first is privileged. */
export const someTools = ["get-sum", "echo"] as const;

export const everything = "everything";
export const partly = "partly";
export const spawned = "spawned";

const dataClass = "docs";
const toolRefs = (server: string, names: readonly string[]) =>
  names.map((name) => ({ ref: `mcp:${server}/${name}`, data_classes: [dataClass] }));
const everythingOf = (server: string) => ({
  hop_budget: 2,
  tools: [
    ...toolRefs(server, [...everyTool, absentTool]),
    ...everyMethod.map((method) => ({ ref: `mcp:${server}#${method}`, data_classes: [dataClass] })),
  ],
});

export interface EverythingStand extends Stand {
  /** Of the MCP server itself. */
  readonly directUrl: string;
}

/**
 * `@modelcontextprotocol/server-everything` behind a real enforcement point: over Streamable HTTP under `everything` with
 * all that it offers declared, and under `partly` with a few of its tools and filtered lists; as a child process under
 * `spawned`, with all declared.
 */
export async function openEverything(): Promise<EverythingStand> {
  const port = await freePort();
  const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
  const server = startChild(process.execPath, [program, "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: String(port) },
  });
  await waitUntil("the MCP server", () => server.output().includes(`listening on port ${port}`));
  const directUrl = `http://127.0.0.1:${port}/mcp`;
  const settings = { protocol: "mcp", data_class: dataClass };
  const tools = Object.fromEntries(everyMethod.map((method) => [`#${method}`, dataClass]));
  const stand = await openStand({
    scopes: {
      [everything]: everythingOf(everything),
      [spawned]: everythingOf(spawned),
      [partly]: {
        hop_budget: 2,
        tools: toolRefs(partly, someTools).map((tool, at) => ({ ...tool, privileged: at === 0 })),
      },
    },
    upstreams: () => [
      { name: everything, url: directUrl, ...settings, tools },
      { name: partly, url: directUrl, ...settings, filter_tool_lists: true },
      { name: spawned, command: [process.execPath, program, "stdio"], ...settings, tools },
    ],
  });
  return {
    ...stand,
    directUrl,
    async stop() {
      await stand.stop();
      await server.stop();
    },
  };
}
