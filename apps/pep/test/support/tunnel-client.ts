import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { rawConnection } from "./raw.ts";

export interface Spoken {
  /** Of the ClientHello; empty: none is sent. */
  readonly servername?: string;
  readonly ca?: string;
  readonly alpn?: readonly string[];
}

/** The agent's end of a tunnel: CONNECT was answered with 200. */
export async function openedTunnel(port: number, authority: string) {
  const connection = await rawConnection(port, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const answer = await connection.until(/\r\n\r\n/);
  return { ...connection, answer };
}

/** TLS in a tunnel; rejects where the handshake fails. */
export async function securedTunnel(port: number, authority: string, { servername, ca, alpn }: Spoken = {}) {
  const { socket, answer } = await openedTunnel(port, authority);
  if (!answer.startsWith("HTTP/1.1 200 ")) throw new Error(answer);
  socket.removeAllListeners("data");
  const host = authority.replace(/:\d+$/, "");
  const secured = connect({
    ...{ socket, host, servername: servername ?? (isIP(host) ? "" : host) },
    ALPNProtocols: [...(alpn ?? ["http/1.1"])],
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
  });
  onTestFinished(() => void secured.destroy());
  await new Promise<void>((resolve, reject) => {
    secured.once("secureConnect", resolve);
    secured.once("error", reject);
    secured.once("close", () => reject(new Error("closed")));
  });
  return secured;
}

/** Sends bytes and reads to the end of the connection. */
export async function exchanged(connection: TLSSocket, bytes: string): Promise<string> {
  let received = "";
  connection.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  const closed = new Promise((resolve) => connection.once("close", resolve));
  connection.on("error", () => {});
  connection.write(bytes, "latin1");
  await closed;
  return received;
}
