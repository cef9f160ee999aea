import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { anthropicAnswer, type MessagesRequest, readMessages } from "./anthropic-messages.ts";
import { type CompletionsRequest, openAiAnswer, readCompletions } from "./openai-completions.ts";
import { next } from "./script.ts";

export interface ModelServer {
  /** As `baseURL` of a client of OpenAI's API. */
  readonly url: string;
  /** As `ANTHROPIC_BASE_URL`. */
  readonly origin: string;
  stop(): void;
}

/**
 * A server of OpenAI's chat completions and of Anthropic's messages, whose model follows the script and calls `first`
 * first.
 */
export async function startModelServer(first: string): Promise<ModelServer> {
  const server = createServer(async (request, response) => {
    const body: unknown = JSON.parse(await text(request));
    const { type, content } = request.url?.startsWith("/v1/messages")
      ? anthropicAnswer(next(readMessages(body as MessagesRequest), first))
      : openAiAnswer(next(readCompletions(body as CompletionsRequest), first));
    response.setHeader("content-type", type).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    origin,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
