import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";

/** A day of the assistant: it reads calendar and mail, creates an appointment, and replies. */
const plan = [
  { server: "calendar", tool: "list_events", arguments: { day: "Monday" } },
  { server: "mail", tool: "search_mail", arguments: { query: "lunch" } },
  { server: "calendar", tool: "create_event", arguments: { day: "Monday", at: "12:30", what: "lunch with Bob" } },
  { server: "mail", tool: "send_mail", arguments: { to: "bob@example.com", body: "See you at 12:30." } },
] as const;

/** An ordinary agent, without our library or a token. @param base each server's address is its name below this one */
export async function runAgent(base: string, say: (line: string) => void): Promise<void> {
  const clients = new Map<string, Client>();
  try {
    for (const { server, tool, arguments: args } of plan) {
      const client = clients.get(server) ?? (await connect(`${base}/${server}`));
      clients.set(server, client);
      say(`${`${server}/${tool}`.padEnd(22)} ${await outcomeOf(client, tool, args)}`);
    }
  } finally {
    await Promise.all([...clients.values()].map((client) => client.close()));
  }
}

async function connect(address: string): Promise<Client> {
  const client = new Client({ name: "assistant", version: "1.0.0" });
  // The SDK's own types disagree on an optional session id.
  await client.connect(new StreamableHTTPClientTransport(new URL(address)) as Parameters<Client["connect"]>[0]);
  return client;
}

/** The agent continues after a denied call: its MCP session stays open. */
async function outcomeOf(client: Client, name: string, args: Record<string, string>): Promise<string> {
  try {
    const { content } = await client.callTool({ name, arguments: args });
    const [first] = content as readonly { readonly text?: string }[];
    return first?.text ?? "";
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const { deny_reason: reason, action_id: action } = (error.data ?? {}) as Record<string, unknown>;
    return `refused: ${reason ?? error.message} (${action})`;
  }
}
