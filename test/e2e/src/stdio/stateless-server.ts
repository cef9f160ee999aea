import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** A server over stdio of MCP 2026-07-28 alone: it refuses `initialize`. `stubborn`: it outlives its input and SIGTERM. */
serveStdio(
  () => {
    const server = new McpServer({ name: "stateless", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("greet", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
      content: [{ type: "text", text: `hello ${name}` }],
    }));
    server.registerTool("pid", { inputSchema: z.object({}) }, () => ({
      content: [{ type: "text", text: String(process.pid) }],
    }));
    server.registerTool("secret", { inputSchema: z.object({}) }, () => ({
      content: [{ type: "text", text: "secret" }],
    }));
    return server;
  },
  { legacy: "reject" },
);
if (process.argv.includes("stubborn")) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1_000);
}
