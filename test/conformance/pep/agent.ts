import { once } from "node:events";
import { connect } from "node:net";
import type { Exchange } from "./exchange.ts";

const continued = /^HTTP\/1\.1 100 Continue\r\n\r\n/;

/** Sends one exchange's bytes over its own connection, and returns everything received until its end. */
export async function converse(
  port: number,
  { send, afterContinue, agent }: Exchange,
  fill: (text: string) => string,
): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.setEncoding("latin1");
  let received = "";
  let hasContinued = false;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  // Some exchanges cut the connection on purpose; the bytes until then count.
  socket.on("error", () => {});
  socket.on("data", (text: string) => {
    received += text;
    if (afterContinue === undefined || hasContinued || !continued.test(received)) return;
    hasContinued = true;
    socket.write(fill(afterContinue), "latin1");
  });
  socket.write(fill(send), "latin1");
  if (agent === "ends") socket.end();
  await closed;
  return received;
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The final response; interim responses before it are skipped. */
export function lastAnswer(received: string): Answer {
  const [, final = ""] = /^(?:HTTP\/1\.1 1\d\d [\s\S]*?\r\n\r\n)*([\s\S]*)$/.exec(received) ?? [];
  const [head = "", ...rest] = final.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => line.split(/: (.*)/s) as [string, string]);
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3}) /.exec(statusLine)?.[1]),
    headers: new Map(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body: rest.join("\r\n\r\n"),
  };
}
