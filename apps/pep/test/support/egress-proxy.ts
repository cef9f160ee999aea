import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface EgressProxy {
  readonly url: string;
  /** The requests it received: `CONNECT host:port` or `GET http://...`, with their headers. */
  readonly asked: { line: string; headers: IncomingMessage["headers"] }[];
  /** Everything that went through its tunnels, agent to upstream. */
  tunnelled(): string;
}

/** A forward proxy: absolute-form for http, CONNECT for https; ends with the test. */
export async function startedEgressProxy(
  answer: "serves" | "wants a password" | "refuses" | "is silent" = "serves",
): Promise<EgressProxy> {
  const asked: EgressProxy["asked"] = [];
  const carried: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    asked.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers });
    if (answer === "wants a password") return void response.writeHead(407).end("who are you?");
    if (answer !== "serves") return;
    const { method, rawHeaders } = incoming;
    const headers = rawHeaders.filter((_, at) => !/^proxy-/i.test(rawHeaders[at - (at % 2)] ?? ""));
    const outgoing = request(incoming.url ?? "", { method, headers }, (came) => {
      response.writeHead(came.statusCode ?? 502, came.rawHeaders);
      came.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    asked.push({ line: `CONNECT ${incoming.url}`, headers: incoming.headers });
    socket.on("error", () => {});
    if (answer === "is silent") return;
    if (answer !== "serves") return void socket.end(`HTTP/1.1 ${answer === "refuses" ? 403 : 407} No\r\n\r\n`);
    const [host = "", port] = (incoming.url ?? "").split(":");
    const upstream = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      socket.on("data", (chunk: Buffer) => carried.push(chunk));
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy());
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    tunnelled: () => Buffer.concat(carried).toString("latin1"),
  };
}
