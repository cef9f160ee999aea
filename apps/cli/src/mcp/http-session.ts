import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";

export interface Sent {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
}

/** MCP over Streamable HTTP. @param signal ends every request */
export function httpSession(url: string, signal: AbortSignal) {
  const agent = new Agent({ keepAlive: true });
  /** Of a client that initialized; none since MCP 2026-07-28. */
  let session: Readonly<Record<string, string>> | undefined;
  const send = (method: string, headers: object, body?: Buffer): Sent => {
    const sent = request(url, { method, agent, signal, headers: { ...session, ...headers } });
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve).on("error", reject);
    });
    sent.end(body);
    return { request: sent, response };
  };
  return {
    get isOpen() {
      return session !== undefined;
    },
    /** @param version that the message itself names */
    post: (body: Buffer, version: unknown): Sent =>
      send(
        "POST",
        {
          ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
          ...(typeof version === "string" && { "mcp-protocol-version": version }),
          "content-length": body.length,
        },
        body,
      ),
    /** The stream of messages that belong to no request. */
    listen: (): Promise<IncomingMessage> => send("GET", { accept: "text/event-stream" }).response,
    /** From now on requests are of the session that the answer to `initialize` began. */
    begin({ headers }: IncomingMessage, version: string | undefined): void {
      const id = headers["mcp-session-id"];
      if (typeof id !== "string") return;
      session = { "mcp-session-id": id, ...(version !== undefined && { "mcp-protocol-version": version }) };
    },
    close: (): void => agent.destroy(),
  };
}
