import { Agent, type IncomingMessage, request } from "node:http";

/** An event stream as an agent reads it. */
export interface EventStream {
  readonly status: number;
  /** Everything that came so far. */
  text(): string;
  /** Cleanly, where the agent was told that this is the end; aborted, where its connection was cut. */
  readonly ended: Promise<"cleanly" | "aborted">;
  /** The agent goes away. */
  leave(): void;
}

/** Begins to listen; resolves with the head of the answer. */
export function eventStream(url: string, headers: Readonly<Record<string, string>>): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: new Agent(), headers: { ...headers, accept: "text/event-stream" } });
    sent.on("error", reject);
    sent.on("response", (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      // A cut connection is told of twice; its end below is what counts.
      response.on("error", () => {});
      const ended = new Promise<"cleanly" | "aborted">((settle) => {
        response.once("close", () => settle(response.complete ? "cleanly" : "aborted"));
      });
      resolve({ status: response.statusCode ?? 0, text: () => text, ended, leave: () => sent.destroy() });
    });
    sent.end();
  });
}
