import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { contents, png, text } from "./conformance-server.ts";

const elicited = (message: string, name: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: { [name]: { type: "string" as const } }, required: [name] },
});
const sampled = {
  messages: [{ role: "user" as const, content: text("What is the capital of France?") }],
  maxTokens: 100,
};

/** What a tool asks of the client before it answers: by key, in one round. */
const asked = {
  test_input_required_result_elicitation: { user_name: inputRequired.elicit(elicited("What is your name?", "name")) },
  test_input_required_result_sampling: { capital_question: inputRequired.createMessage(sampled) },
  test_input_required_result_list_roots: { client_roots: inputRequired.listRoots() },
  test_input_required_result_multiple_inputs: {
    user_name: inputRequired.elicit(elicited("What is your name?", "name")),
    greeting: inputRequired.createMessage(sampled),
    client_roots: inputRequired.listRoots(),
  },
};

/** The tools, resources and prompts that the official suite expects of a server of 2026-07-28. */
function modernServer(): McpServer {
  const server = new McpServer({ name: "conformance", version: "1" });
  for (const [name, content] of Object.entries(contents)) server.registerTool(name, {}, () => ({ content }));
  server.registerTool("test_error_handling", {}, () => ({ content: [text("an error")], isError: true }));
  server.registerTool("test_tool_with_progress", {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    }
    return { content: [text("done")] };
  });
  for (const [name, inputRequests] of Object.entries(asked)) {
    server.registerTool(name, {}, ({ mcpReq: { inputResponses } }) => {
      const isComplete = Object.keys(inputRequests).every(
        (key) => inputResponse(inputResponses, key).kind !== "missing",
      );
      return isComplete ? { content: [text(JSON.stringify(inputResponses))] } : inputRequired({ inputRequests });
    });
  }
  offerResources(server);
  offerPrompts(server);
  return server;
}

function offerResources(server: McpServer): void {
  const uris = { text: "test://static-text", binary: "test://static-binary" };
  server.registerResource("text", uris.text, { mimeType: "text/plain" }, () => ({
    contents: [{ uri: uris.text, mimeType: "text/plain", text: "the text" }],
  }));
  server.registerResource("binary", uris.binary, { mimeType: "image/png" }, () => ({
    contents: [{ uri: uris.binary, mimeType: "image/png", blob: png }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, { mimeType: "application/json" }, ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id }) }],
  }));
}

function offerPrompts(server: McpServer): void {
  const said = (content: ReturnType<typeof text>) => ({ messages: [{ role: "user" as const, content }] });
  server.registerPrompt("test_simple_prompt", {}, () => said(text("This is a simple prompt for testing.")));
  const argsSchema = z.object({ arg1: z.string(), arg2: z.string() });
  server.registerPrompt("test_prompt_with_arguments", { argsSchema }, ({ arg1, arg2 }) =>
    said(text(`arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt("test_input_required_result_prompt", {}, ({ mcpReq: { inputResponses } }) => {
    const view = inputResponse(inputResponses, "user_context");
    const user_context = inputRequired.elicit(elicited("What context should the prompt use?", "context"));
    return view.kind === "missing"
      ? inputRequired({ inputRequests: { user_context } })
      : said(text(JSON.stringify(view)));
  });
}

/** The same over Streamable HTTP on a free port; it speaks 2026-07-28 alone. */
export async function startModernConformanceServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const handle = toNodeHandler(createMcpHandler(modernServer, { legacy: "reject" }));
  const http = createServer((request, response) => void handle(request as NodeIncomingMessageLike, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    stop: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
