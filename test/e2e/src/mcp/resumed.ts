import type { McpAgent } from "./agent.ts";

/**
 * Reads a call's stream by event ids, then requests everything after the first, like a client whose stream broke there
 * (MCP: Resumability and Redelivery).
 */
export async function resumed({ client, transport, url, headers }: McpAgent): Promise<unknown> {
  const ids: string[] = [];
  const call = { name: "trigger-long-running-operation", arguments: { duration: 0.3, steps: 3 } };
  await client.callTool(call, undefined, { onprogress: () => {}, onresumptiontoken: (id) => ids.push(id) });
  const [first = "", ...rest] = ids;
  const aborting = new AbortController();
  const response = await fetch(url, {
    headers: {
      ...headers,
      accept: "text/event-stream",
      "mcp-session-id": transport.sessionId ?? "",
      "last-event-id": first,
    },
    signal: aborting.signal,
  });
  const replayed = await readUntil(response, rest.at(-1) ?? first);
  aborting.abort();
  const ofReplay = [...replayed.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  return { status: response.status, events: ofReplay.length, isTheRest: ofReplay.join() === rest.join() };
}

async function readUntil(response: Response, lastId: string): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    // An event is complete at the empty line after it.
    if (text.slice(text.indexOf(`id: ${lastId}`)).includes("\n\n") && text.includes(`id: ${lastId}`)) break;
  }
  return text;
}
