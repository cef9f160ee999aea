import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
export const text = (said: string) => ({ type: "text", text: said }) as const;
const image = { type: "image", data: png, mimeType: "image/png" } as const;
const embedded = (uri: string) =>
  ({ type: "resource", resource: { uri, mimeType: "text/plain", text: "embedded" } }) as const;

/** By tool, what it answers in any revision. */
export const contents = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [image],
  test_audio_content: [{ type: "audio", data: wav, mimeType: "audio/wav" } as const],
  test_embedded_resource: [embedded("test://embedded")],
  test_multiple_content_types: [text("Multiple content types test:"), image, embedded("test://mixed")],
};

/** The tools, resources and prompts that the official conformance suite expects. */
function conformanceServer(): McpServer {
  const server = new McpServer(
    { name: "conformance", version: "1" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  for (const [name, content] of Object.entries(contents)) server.registerTool(name, {}, () => ({ content }));
  server.registerTool("test_error_handling", {}, () => ({ content: [text("an error")], isError: true }));
  server.registerTool("test_tool_with_logging", {}, async (extra) => {
    for (const data of ["started", "processing", "completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
    }
    return { content: [text("logged")] };
  });
  server.registerTool("test_tool_with_progress", {}, async ({ _meta, sendNotification }) => {
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: _meta?.progressToken ?? 0, progress, total: 100 };
      await sendNotification({ method: "notifications/progress", params });
    }
    return { content: [text("done")] };
  });
  server.registerTool("test_sampling", { inputSchema: { prompt: z.string() } }, async ({ prompt }) => {
    const messages = [{ role: "user" as const, content: text(prompt) }];
    const { content } = await server.server.createMessage({ messages, maxTokens: 100 });
    return { content: [text(`LLM response: ${JSON.stringify(content)}`)] };
  });
  server.registerTool("test_elicitation", { inputSchema: { message: z.string() } }, async ({ message }) => {
    const username = { type: "string", description: "who" } as const;
    const requestedSchema = { type: "object" as const, properties: { username, email: username } };
    const answer = await server.server.elicitInput({ message, requestedSchema });
    return { content: [text(`User response: ${JSON.stringify(answer)}`)] };
  });
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
    contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, data: `Data for ID: ${id}` }) }],
  }));
}

function offerPrompts(server: McpServer): void {
  const said = (...content: (ReturnType<typeof text> | typeof image | ReturnType<typeof embedded>)[]) => ({
    messages: content.map((each) => ({ role: "user" as const, content: each })),
  });
  server.registerPrompt("test_simple_prompt", {}, () => said(text("This is a simple prompt for testing.")));
  const argsSchema = { arg1: z.string(), arg2: z.string() };
  server.registerPrompt("test_prompt_with_arguments", { argsSchema }, ({ arg1, arg2 }) =>
    said(text(`arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { argsSchema: { resourceUri: z.string() } },
    ({ resourceUri }) => said(embedded(resourceUri), text("process it")),
  );
  server.registerPrompt("test_prompt_with_image", {}, () => said(image, text("analyze it")));
}

/** The same over Streamable HTTP on a free port, with one server per session. */
export async function startConformanceServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await conformanceServer().connect(transport as Parameters<McpServer["connect"]>[0]);
    return transport.handleRequest(request, response);
  };
  const http = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
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
