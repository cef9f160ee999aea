import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const events = ["09:00 stand-up", "10:00 planning with Grace"];

/** Ada's Monday: a tool that reads it and one that adds to it, without any authorization. */
export function calendar(): McpServer {
  const server = new McpServer({ name: "calendar", version: "1.0.0" });
  server.registerTool(
    "list_events",
    {
      description: "Lists the events of a day.",
      inputSchema: { day: z.string() },
      annotations: { readOnlyHint: true },
    },
    () => text(events.join(", ")),
  );
  server.registerTool(
    "create_event",
    {
      description: "Adds an event to the calendar.",
      inputSchema: { day: z.string(), at: z.string(), what: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: false },
    },
    ({ at, what }) => {
      events.push(`${at} ${what}`);
      return text(`created: ${at} ${what}`);
    },
  );
  return server;
}

const text = (content: string) => ({ content: [{ type: "text" as const, text: content }] });

/** Ada's mail: a tool that reads and one that sends, without any authorization. */
export function mail(): McpServer {
  const server = new McpServer({ name: "mail", version: "1.0.0" });
  server.registerTool(
    "search_mail",
    { description: "Finds messages.", inputSchema: { query: z.string() }, annotations: { readOnlyHint: true } },
    ({ query }) => text(`bob@example.com: ${query} on Monday at 12:30?`),
  );
  server.registerTool(
    "send_mail",
    {
      description: "Sends a message.",
      inputSchema: { to: z.string(), body: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: true },
    },
    ({ to }) => text(`sent to ${to}`),
  );
  return server;
}

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
