import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { text } from "./calendar.ts";

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
