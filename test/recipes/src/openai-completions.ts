import { randomUUID } from "node:crypto";
import type { Asked, Step } from "./script.ts";

/** Of OpenAI's chat completions, what is read here. */
export interface CompletionsRequest {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export function readCompletions({ messages, tools = [] }: CompletionsRequest): Asked {
  const result = messages.findLast(({ role }) => role === "tool")?.content;
  return {
    offered: tools.map((tool) => tool.function.name),
    result: typeof result === "string" || result === undefined ? result : JSON.stringify(result),
  };
}

export const openAiAnswer = (step: Step) => ({
  type: "application/json",
  content: JSON.stringify({
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
  }),
});

const toolCall = (name: string) => ({ id: `call_${name}`, type: "function", function: { name, arguments: "{}" } });
