import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { normalAuthority } from "../message/authority.ts";
import type { Authority } from "./authority.ts";

export type TerminatedTunnels = ReturnType<typeof createTerminatedTunnels>;

/** A connection whose tunnel ends here: TLS where its first byte begins a handshake, else as it is. */
const handshakeRecord = 0x16;

/**
 * Tunnels of agents that end in this process (docs/reference/enforcement-point.md#terminated-tunnels).
 * @param authority undefined: no tunnel is terminated
 */
export function createTerminatedTunnels(authority: Authority | undefined) {
  const authorities = new WeakMap<Duplex, string>();
  const used = new WeakSet<Duplex>();
  return {
    isOn: authority !== undefined,
    /** The CONNECT authority, in normal spelling, of the tunnel that a request came through. */
    authorityOf: (connection: Duplex): string | undefined => authorities.get(connection),
    /** A request came through this connection. */
    use: (connection: Duplex): void => void used.add(connection),
    isUsed: (connection: Duplex): boolean => used.has(connection),
    /**
     * The agent's end of a tunnel as a connection of an HTTP server, which bounds handshake and first request by its time for
     * headers. Undefined where the agent sends nothing, or disconnects.
     * @param authorityName in normal spelling
     */
    async open(socket: Socket, head: Buffer, authorityName: string, firstByteMs: number): Promise<Duplex | undefined> {
      const [first] = await firstBytes(socket, head, firstByteMs);
      if (first === undefined || authority === undefined) return undefined;
      const connection = first === handshakeRecord ? await secured(socket, authority, authorityName) : socket;
      authorities.set(connection, authorityName);
      return connection;
    },
  };
}

/** The first bytes, which stay to be read; empty where none came. */
function firstBytes(socket: Socket, head: Buffer, withinMs: number): Promise<Buffer> {
  if (head.length > 0) socket.unshift(head);
  return new Promise((resolve) => {
    const end = (bytes: Buffer) => {
      clearTimeout(late);
      socket.off("readable", look).off("close", none);
      if (bytes.length > 0) socket.unshift(bytes);
      resolve(bytes);
    };
    const none = () => end(Buffer.alloc(0));
    const look = () => {
      const bytes: Buffer | null = socket.read();
      if (bytes !== null) end(bytes);
      else if (socket.readableEnded || socket.destroyed) none();
    };
    const late = setTimeout(none, withinMs);
    socket.on("readable", look).once("close", none);
    socket.once("end", none);
  });
}

async function secured(socket: Socket, authority: Authority, authorityName: string): Promise<Duplex> {
  const host = authorityName.replace(/:\d+$/, "");
  const secureContext = await authority.contextFor(host);
  return new TLSSocket(socket, {
    isServer: true,
    secureContext,
    // HTTP/2 is not served: a client that speaks nothing else fails at the handshake.
    ALPNProtocols: ["http/1.1"],
    SNICallback: (name, accept) =>
      normalAuthority(name) === host
        ? accept(null, secureContext)
        : accept(new Error("the handshake names another host")),
  });
}
