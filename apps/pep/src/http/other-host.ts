import type { IncomingMessage, ServerResponse } from "node:http";
import { Client } from "undici";
import { readInboundCredentials } from "../decide/inbound-credentials.ts";
import { connectMs } from "../forward/connection.ts";
import { forward } from "../forward/relay.ts";
import type { TunnelEnd } from "../forward/tunnel.ts";
import type { Place, Reach } from "../local/reachable.ts";
import { authorityIn, normalAuthority } from "../message/authority.ts";
import { responseHeaders, untouchedHeaders } from "../message/headers.ts";
import { requestBody } from "../message/request-body.ts";
import { type Answer, writeAnswer } from "../message/write-answer.ts";
import { httpBlockAnswer, upstreamFaultAnswer } from "../protocols/answers.ts";
import { blockedFor } from "../protocols/blocks.ts";
import type { PepPorts } from "./call.ts";

/** Of an authority as it is spelled: the port counts, which the normal spelling leaves out. */
export function placeIn(authority: string, defaultPort: number): Place {
  const [, host = "", port] = /^(.*?)\.?(?::(\d+))?$/.exec(authority.toLowerCase()) ?? [];
  return { hostname: host.replace(/^\[|\]$/g, ""), port: port === undefined ? defaultPort : Number(port) };
}

const unknownHost: Answer = {
  ...upstreamFaultAnswer("upstream_unreachable"),
  body: JSON.stringify({
    error: {
      code: "upstream_unreachable",
      message: "the host cannot be reached; check its name and port, and that this machine reaches it without a proxy",
    },
  }),
};

export const unreachedAnswer = (reach: Extract<Reach, string>): Answer =>
  reach === "closed" ? httpBlockAnswer(blockedFor("closed_address")) : unknownHost;

/** The authority of a plain request in absolute form to a host that no upstream lists, where such hosts are reached. */
export function otherHostOf(
  { otherHosts, tunnels, upstreams }: PepPorts,
  { url = "", socket }: IncomingMessage,
  own: ReadonlySet<string>,
): string | undefined {
  if (otherHosts === undefined || !/^http:/i.test(url) || tunnels.authorityOf(socket) !== undefined) return undefined;
  const spelled = authorityIn(url) ?? "";
  const authority = normalAuthority(spelled);
  const isKnown = authority === undefined || own.has(authority) || upstreams.current().byHost.has(authority);
  return isKnown ? undefined : spelled;
}

/** Forwards one request without a decision and without a token of ours. Never rejects. */
export async function forwardElsewhere(
  ports: PepPorts,
  request: IncomingMessage,
  response: ServerResponse,
  spelled: string,
): Promise<void> {
  const answer = (own: Answer) => writeAnswer(request, response, own);
  const { otherHosts, unlistedHosts, calls } = ports;
  const path = pathAfter(request.url ?? "", spelled);
  if (path === undefined) return answer(httpBlockAnswer(blockedFor("odd_path")));
  const release = calls.tryAcquire();
  if (!release) return answer(httpBlockAnswer(blockedFor("shed")));
  try {
    const place = placeIn(spelled, 80);
    const reach = (await otherHosts?.(place)) ?? "closed";
    const isReached = typeof reach !== "string";
    if (reach !== "unknown") unlistedHosts.note(normalAuthority(spelled) ?? "", isReached ? "forwarded" : "refused");
    if (!isReached) return answer(unreachedAnswer(reach));
    await relayTo({ ...place, ...reach }, path, ports, request, response);
  } catch {
    answer(unknownHost);
  } finally {
    release();
  }
}

/** As it was received; undefined for one that no client may send. */
function pathAfter(url: string, authority: string): string | undefined {
  const rest = url.slice(url.indexOf(authority) + authority.length);
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  return /^[\x21-\x7e]+$/.test(path) ? path : undefined;
}

async function relayTo(
  { hostname, port, lookup }: TunnelEnd,
  path: string,
  { ambient, limits }: PepPorts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { rawHeaders, httpVersion, method = "" } = request;
  const { foreignAuthorization } = readInboundCredentials(rawHeaders, ambient());
  const { "content-length": length, expect } = request.headers;
  const body = requestBody(request, () => {
    if (expect !== undefined && httpVersion !== "1.0") response.writeContinue();
  });
  const host = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const headers = untouchedHeaders(rawHeaders, httpVersion, [
    ...["host", port === 80 ? host.replace(/:80$/, "") : host],
    ...(foreignAuthorization === undefined ? [] : ["authorization", foreignAuthorization]),
    ...(length === undefined ? [] : ["content-length", length]),
  ]);
  const client = new Client(`http://${host}`, { connect: { lookup, timeout: connectMs }, pipelining: 1 });
  const sent = { method, path, headers, body: body.isAbsent ? null : body.stream({ idleMs: limits.idleBodyMs }) };
  const end = await forward(client, sent, response, {
    limits,
    answerHeaders: (received) => responseHeaders(received, []),
  }).ended;
  await client.destroy();
  if (end.kind === "failed" && end.status === undefined) writeAnswer(request, response, unknownHost);
}
