import { Agent, type IncomingMessage, request } from "node:http";

/** An agent's side of an event stream. */
export interface EventStream {
  readonly status: number;
  /** Everything received so far. */
  text(): string;
  /** Cleanly at a normal end; aborted where the connection was cut. */
  readonly ended: Promise<"cleanly" | "aborted">;
  /** Closes the agent's connection. */
  leave(): void;
}

/** Opens the stream; resolves with the response's head. */
export function eventStream(url: string, headers: Readonly<Record<string, string>>): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: new Agent(), headers: { ...headers, accept: "text/event-stream" } });
    sent.on("error", reject);
    sent.on("response", (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      // A cut connection raises two errors; its end below counts.
      response.on("error", () => {});
      const ended = new Promise<"cleanly" | "aborted">((settle) => {
        response.once("close", () => settle(response.complete ? "cleanly" : "aborted"));
      });
      resolve({ status: response.statusCode ?? 0, text: () => text, ended, leave: () => sent.destroy() });
    });
    sent.end();
  });
}
