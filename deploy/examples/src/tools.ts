import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
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
