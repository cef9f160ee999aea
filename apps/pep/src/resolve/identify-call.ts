import type { HopCredential } from "@svc/hop";
import type { Limits } from "../limits.ts";
import type { RequestBody } from "../message/request-body.ts";
import type { IdentifiedCall } from "../protocols/protocol.ts";
import type { Resolved } from "./resolve.ts";

/** What a call is read from, besides its request line. */
export interface CallMessage {
  readonly request: { readonly rawHeaders: readonly string[] };
  readonly body: RequestBody;
  readonly ports: { readonly limits: Limits };
  readonly inbound: { readonly credential?: HopCredential };
}

/** The call of a resolved request. A body is read only for a request that presents a credential. */
export function identifyCall(
  resolved: Resolved,
  { request, body, ports, inbound }: CallMessage,
): IdentifiedCall | Promise<IdentifiedCall | "gone"> {
  if (resolved.kind === "call") return resolved;
  if (resolved.kind === "unmapped" || !inbound.credential) return {};
  return resolved.upstream.protocol.readCall(body, request.rawHeaders, ports.limits);
}
