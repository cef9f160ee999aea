import { randomUUID } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createServer } from "@modelcontextprotocol/server-everything/dist/server/index.js";
import { createPayments } from "./payments.ts";

/**
 * On loopback: at `/mcp` the reference MCP server, of which only the tools are used, since its own command listens
 * everywhere; at `/payments` a small one whose tool matters.
 */
const servers = new Map<string, typeof createServer>([
  ["/mcp", createServer],
  ["/payments", createPayments],
]);
const sessions = new Map<string, StreamableHTTPServerTransport>();

const listener = createHttpServer((request, response) => {
  handle(request, response).catch(() => response.destroy());
});
listener.listen(Number(process.env.PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/livez") return void response.end("ok");
  const create = servers.get(pathname);
  if (create === undefined) return void response.writeHead(404).end();
  const transport = await transportOf(request.headers["mcp-session-id"], create);
  if (transport === undefined) return void response.writeHead(404).end();
  await transport.handleRequest(request, response);
}

/** A new one for a client that names no MCP session: the transport accepts only `initialize` on it. */
async function transportOf(
  sessionId: string | string[] | undefined,
  create: typeof createServer,
): Promise<StreamableHTTPServerTransport | undefined> {
  if (sessionId !== undefined) return sessions.get(String(sessionId));
  const { server, cleanup } = create();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => {
      sessions.delete(id);
      cleanup(id);
    },
  });
  await server.connect(transport);
  return transport;
}
