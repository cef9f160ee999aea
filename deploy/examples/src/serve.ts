import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

/** Serves tools at `/mcp`, each request by a server of its own. @param port 0 for a free one @returns the port */
export async function serveTools(makeServer: () => McpServer, host: string, port: number): Promise<number> {
  const listener = createServer((request, response) => {
    answer(makeServer, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => listener.listen(port, host, resolve));
  process.once("SIGTERM", () => process.exit(0));
  return (listener.address() as AddressInfo).port;
}

async function answer(makeServer: () => McpServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/livez") return void response.end("ok");
  if (pathname !== "/mcp") return void response.writeHead(404).end();
  if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
  const transport = new StreamableHTTPServerTransport({});
  const server = makeServer();
  response.once("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}
