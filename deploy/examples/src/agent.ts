import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";

/** What a day's assistant does: it reads calendar and mail, makes an appointment, and answers. */
const plan = [
  { server: "calendar", tool: "list_events", arguments: { day: "Monday" } },
  { server: "mail", tool: "search_mail", arguments: { query: "lunch" } },
  { server: "calendar", tool: "create_event", arguments: { day: "Monday", at: "12:30", what: "lunch with Bob" } },
  { server: "mail", tool: "send_mail", arguments: { to: "bob@example.com", body: "See you at 12:30." } },
] as const;

/**
 * An agent as anybody writes one: the official MCP client and base addresses, no library of ours, no token. Where the
 * addresses are an enforcement point's, what it may do is decided there.
 * @param base the address below which each server is found by its name
 */
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
  // The SDK's own types do not agree with each other under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(address)) as Parameters<Client["connect"]>[0]);
  return client;
}

/** A refused call is an answer that the agent can go on from: its session lives. */
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
