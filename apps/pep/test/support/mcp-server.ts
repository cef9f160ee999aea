import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { onTestFinished } from "vitest";
import { z } from "zod";

export interface RunningMcpServer {
  readonly url: string;
  readonly requests: { method: string; headers: IncomingMessage["headers"] }[];
  /** Tools that were run. */
  readonly ran: string[];
  /** Open streams that the agent listens on. */
  listening(): number;
  /** Tells every agent that listens. */
  announce(): Promise<void>;
}

/** A real MCP server of the official SDK over Streamable HTTP; ends with the test. */
export async function startedMcpServer({ json = false } = {}): Promise<RunningMcpServer> {
  const ran: string[] = [];
  const requests: RunningMcpServer["requests"] = [];
  const sessions = new Map<string, { server: McpServer; transport: StreamableHTTPServerTransport }>();
  let streams = 0;

  const open = async () => {
    const server = new McpServer({ name: "files", version: "1" });
    for (const name of ["read_file", "write_file", "delete_file"]) {
      server.registerTool(name, { description: name, inputSchema: { path: z.string() } }, ({ path }) => {
        ran.push(`${name} ${path}`);
        return { content: [{ type: "text", text: `${name} of ${path}` }] };
      });
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json,
      onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
    });
    await server.connect(transport as Parameters<McpServer["connect"]>[0]);
    return transport;
  };

  const http = createServer(async (request, response) => {
    requests.push({ method: request.method ?? "", headers: request.headers });
    if (request.method === "GET") {
      streams += 1;
      response.once("close", () => {
        streams -= 1;
      });
    }
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    await (known?.transport ?? (await open())).handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    http.closeAllConnections();
    http.close();
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests,
    ran,
    listening: () => streams,
    announce: async () => {
      await Promise.all([...sessions.values()].map(({ server }) => server.server.sendToolListChanged()));
    },
  };
}
