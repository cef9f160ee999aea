import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

function notes(): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool("read_note", { description: "Reads the note." }, () => said("a note"));
  server.registerTool("write_note", { description: "Writes the note." }, () => said("written"));
  return server;
}

/** An MCP server with two tools; each request stands alone. */
export async function startNotesServer(): Promise<{ readonly url: string; stop(): void }> {
  const http = createServer(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await notes().connect(transport as Parameters<McpServer["connect"]>[0]);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    stop: () => {
      http.close();
      http.closeAllConnections();
    },
  };
}
