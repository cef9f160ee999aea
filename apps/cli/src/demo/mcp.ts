import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { heldBy, type Scene } from "./scene.ts";

/** A stock MCP client of the planner, pointed at the enforcement point instead of the server. */
export async function withMcpClient<T>(
  scene: Scene,
  upstream: string,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ name: "planner", version: "1.0.0" });
  const headers = {
    authorization: `Bearer ${heldBy(scene, "plannerToken")}`,
    "x-svc-session": heldBy(scene, "consent").session_id,
  };
  const transport = new StreamableHTTPClientTransport(new URL(`${scene.stack.pep}/${upstream}`), {
    requestInit: { headers },
  });
  // Its types promise an optional session id where the client's ask for one that may be undefined.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** The text of a tool's answer. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return (content as { type: string; text?: string }[]).map(({ text = "" }) => text).join(" ");
}
