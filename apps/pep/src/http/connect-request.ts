import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { AgentSocket } from "../forward/connection.ts";
import { established, openTunnel } from "../forward/tunnel.ts";
import type { Reachable } from "../local/reachable.ts";
import { normalAuthority } from "../message/authority.ts";
import { writeAnswerToSocket } from "../message/write-answer.ts";
import { httpBlockAnswer } from "../protocols/answers.ts";
import { blockedFor } from "../protocols/blocks.ts";
import type { PepPorts } from "./call.ts";
import { placeIn, unreachedAnswer } from "./other-host.ts";
import { handleTunnel } from "./socket-call.ts";

/**
 * Terminates a tunnel to a listed host, opens one to any other host where these are reached, and leaves every other to a
 * decision (docs/reference/enforcement-point.md#terminated-tunnels).
 * @param serve takes the agent's end of a terminated tunnel as a new connection
 */
export async function handleConnect(
  ports: PepPorts,
  agent: AgentSocket,
  own: ReadonlySet<string>,
  serve: (connection: Duplex) => void,
): Promise<void> {
  const { request, head } = agent;
  const { socket, url = "" } = request;
  const { tunnels, otherHosts } = ports;
  const authority = normalAuthority(url);
  const upstream = ports.upstreams.current().byHost.get(authority ?? "");
  const isTerminated = upstream !== undefined && upstream.tunnel === undefined && tunnels.isOn;
  const isElsewhere = upstream === undefined && otherHosts !== undefined && !own.has(authority ?? "");
  if (authority === undefined || tunnels.authorityOf(socket) !== undefined || !(isTerminated || isElsewhere)) {
    return handleTunnel(ports, agent, own);
  }
  socket.on("error", () => socket.destroy());
  const release = ports.streams.tryAcquire();
  if (!release) return writeAnswerToSocket(socket, httpBlockAnswer(blockedFor("shed")));
  socket.once("close", release);
  if (isElsewhere) return tunnelElsewhere(ports, otherHosts, { socket, head, url }, authority);
  socket.write(established);
  const connection = await tunnels.open(socket, head, authority, ports.limits.agentHeadersMs).catch(() => undefined);
  if (connection === undefined || socket.destroyed) return void socket.destroy();
  // As a client ends it that does not trust our certificate, which only its own user learns otherwise.
  socket.once("close", () => {
    if (!tunnels.isUsed(connection)) ports.unlistedHosts.note(authority, "unused");
  });
  serve(connection);
}

interface OtherTunnel {
  readonly socket: Socket;
  readonly head: Buffer;
  /** The CONNECT target. */
  readonly url: string;
}

/** Without a decision, and without a token of ours. */
async function tunnelElsewhere(
  { unlistedHosts }: PepPorts,
  reachable: Reachable,
  { socket, head, url }: OtherTunnel,
  authority: string,
): Promise<void> {
  const place = placeIn(url, 443);
  const reach = await reachable(place);
  if (socket.destroyed) return;
  if (typeof reach === "string") {
    if (reach === "closed") unlistedHosts.note(authority, "refused");
    return writeAnswerToSocket(socket, unreachedAnswer(reach));
  }
  const ignored = () => {};
  openTunnel(
    { ...place, ...reach },
    { socket, head },
    {
      connected: ignored,
      handOver: ignored,
      opened: () => unlistedHosts.note(authority, "tunnelled"),
      failed: () => writeAnswerToSocket(socket, unreachedAnswer("unknown")),
    },
  );
}
