import { randomUUID } from "node:crypto";
import type { Asked, Step } from "./script.ts";

interface Block {
  readonly type: string;
  readonly content?: unknown;
}

/** Of Anthropic's messages, what is read here. Answers are streamed, since Claude's programs ask for that. */
export interface MessagesRequest {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly name: string }[];
}

export function readMessages({ messages, tools = [] }: MessagesRequest): Asked {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const result = blocks.findLast(({ type }) => type === "tool_result")?.content;
  return {
    offered: tools.map(({ name }) => name),
    result: typeof result === "string" || result === undefined ? result : JSON.stringify(result),
  };
}

export function anthropicAnswer(step: Step) {
  const [block, delta] =
    "call" in step
      ? [
          { type: "tool_use", id: `toolu_${randomUUID()}`, name: step.call, input: {} },
          { type: "input_json_delta", partial_json: "{}" },
        ]
      : [
          { type: "text", text: "" },
          { type: "text_delta", text: step.say },
        ];
  const events = [
    { type: "message_start", message: opening() },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "call" in step ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: "message_stop" },
  ];
  const content = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return { type: "text/event-stream", content };
}

const opening = () => ({
  ...{ id: `msg_${randomUUID()}`, type: "message", role: "assistant", model: "model", content: [] },
  ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
});
