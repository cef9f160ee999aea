import type { IncomingMessage } from "node:http";

/** The messages of a response, each on one line: of an event stream as they come, or its body. */
export async function* messagesOf(response: IncomingMessage): AsyncGenerator<string> {
  const isStream = /^text\/event-stream\b/i.test(response.headers["content-type"] ?? "");
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    if (!isStream) continue;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) yield* dataOf(event);
  }
  if (isStream) yield* dataOf(text);
  else if (text.trim() !== "") yield onOneLine(text);
}

/** HTML standard: Server-sent events. A comment has no data. */
function* dataOf(event: string): Generator<string> {
  const lines = event.split("\n").flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? []);
  if (lines.length > 0) yield onOneLine(lines.join(" "));
}

const onOneLine = (json: string): string => json.replaceAll(/[\r\n]/g, " ");
