import type { ProxiedCall } from "../http/proxied-call.ts";
import { valuesInAnySpelling } from "../message/headers.ts";
import { bodyHeadersOf, isPlainJson } from "../message/media-type.ts";
import { type JsonRpcId, type McpMessage, readMessage, resolveMessage } from "../protocols/mcp/message.ts";
import type { CallTarget } from "../protocols/routes.ts";
import type { McpUpstream } from "../upstreams/upstream.ts";
import type { Resolution } from "./resolve.ts";

export type Placed = Exclude<Resolution, { kind: "unresolvable" }>;

/** What a request calls, and for an MCP request what waits for its answer. */
export interface Called {
  readonly call?: CallTarget | undefined;
  readonly id?: JsonRpcId | undefined;
  readonly method?: string | undefined;
}

export async function calledAt(call: ProxiedCall, place: Placed): Promise<Called | "gone"> {
  if (place.kind === "call") return { call: place.call };
  // Who has no credential is not asked what it wants.
  if (place.kind === "unmapped" || !call.presented.credential) return {};
  return messageAt(call, place.upstream);
}

/** An MCP message is read whole: its bytes are the authority for what is called. */
async function messageAt({ request, body, ports }: ProxiedCall, upstream: McpUpstream): Promise<Called | "gone"> {
  if (!isPlainJson(bodyHeadersOf(request.rawHeaders))) return {};
  const { bindCapBytes: capBytes, idleBodyMs: pauseMs } = ports.limits;
  const reading = await body.read({ capBytes, pauseMs });
  if (reading === "gone" || reading === "paused") return "gone";
  const message = reading === "whole" ? readMessage(body.bytes()) : undefined;
  if (!message) return {};
  const { id, method } = message;
  return { id, method, call: isMirrored(message, request.rawHeaders) ? resolveMessage(upstream, message) : undefined };
}

/** Headers that repeat what the body says must say the same, however a server behind spells them. */
function isMirrored({ method, name, uri }: McpMessage, headers: readonly string[]): boolean {
  const agrees = (header: string, said: string | undefined) =>
    valuesInAnySpelling(headers, header).every((value) => value === said);
  return agrees("mcp-method", method) && agrees("mcp-name", name ?? uri);
}
