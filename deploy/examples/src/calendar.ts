import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const events = ["09:00 stand-up", "10:00 planning with Grace"];

/** Ada's Monday: one tool that reads it, one that adds to it. Knows nothing of authorization. */
export function calendar(): McpServer {
  const server = new McpServer({ name: "calendar", version: "1.0.0" });
  server.registerTool(
    "list_events",
    { description: "What is on that day.", inputSchema: { day: z.string() }, annotations: { readOnlyHint: true } },
    () => text(events.join(", ")),
  );
  server.registerTool(
    "create_event",
    {
      description: "Puts something into the calendar.",
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

export const text = (content: string) => ({ content: [{ type: "text" as const, text: content }] });
