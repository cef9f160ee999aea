import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

interface Completion {
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export interface ModelServer {
  /** As `baseURL` of a client of OpenAI's API. */
  readonly url: string;
  stop(): void;
}

/**
 * A server of OpenAI's chat completions whose model follows a script. It calls `first`, then whatever the last result says
 * that it may call instead, and ends with the last result as its answer.
 */
export async function startModelServer(first: string): Promise<ModelServer> {
  const server = createServer(async (request, response) => {
    const asked = JSON.parse(await text(request)) as Completion;
    response.setHeader("content-type", "application/json").end(JSON.stringify(completionOf(next(asked, first))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

type Step = { readonly call: string } | { readonly say: string };

function next({ messages, tools = [] }: Completion, first: string): Step {
  const offered = tools.map((tool) => tool.function.name);
  const result = messages.findLast(({ role }) => role === "tool");
  if (!result) return { call: offered.find(isCalled(first)) ?? "no such tool" };
  const seen = typeof result.content === "string" ? result.content : JSON.stringify(result.content);
  const named = /instead you may call: ([\w, -]+)/.exec(seen)?.[1]?.split(", ") ?? [];
  const other = named.flatMap((name) => offered.find(isCalled(name)) ?? [])[0];
  return other === undefined ? { say: `The tool said: ${seen}` } : { call: other };
}

/** Some libraries put the server's name before the tool's. */
const isCalled = (tool: string) => (name: string) => name === tool || name.endsWith(`_${tool}`);

const completionOf = (step: Step) => ({
  ...{ id: randomUUID(), object: "chat.completion", created: 0, model: "model" },
  choices: [
    {
      index: 0,
      finish_reason: "call" in step ? "tool_calls" : "stop",
      message:
        "call" in step
          ? { role: "assistant", content: null, tool_calls: [toolCall(step.call)] }
          : { role: "assistant", content: step.say },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const toolCall = (name: string) => ({ id: `call_${name}`, type: "function", function: { name, arguments: "{}" } });
