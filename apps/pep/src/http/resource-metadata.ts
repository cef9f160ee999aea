import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOf } from "@svc/host";
import { writeAnswer } from "../message/write-answer.ts";
import { type ProtectedResource, wellKnownResource } from "../protocols/protected-resource.ts";
import type { Upstreams } from "../upstreams/upstream.ts";

export interface ResourceMetadataPorts {
  /** The configuration in force. */
  readonly upstreams: () => Upstreams;
  /** The authorization server. Undefined: the control plane did not say. */
  readonly issuer: () => Promise<string | undefined>;
}

export const isResourceMetadataPath = (target: string): boolean => target.startsWith(`${wellKnownResource}/`);

/**
 * The metadata of the protected resources (RFC 9728 section 3): at the path of the resource's identifier, and without the
 * path of the public address, which a proxy in front may have taken off.
 */
export async function serveResourceMetadata(
  { upstreams, issuer }: ResourceMetadataPorts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = (status: number, content: object, more: readonly string[] = []) =>
    writeAnswer(request, response, {
      status,
      headers: ["content-type", "application/json", "cache-control", "no-store", ...fromPages, ...more],
      body: JSON.stringify(content),
    });
  if (isPreflight(request)) return reply(200, { status: "ok" }, toPreflight);
  const named = resourceAt(upstreams(), pathOf(request));
  if (!named) return reply(404, { status: "not_found" });
  if (request.method !== "GET" && request.method !== "HEAD") {
    return reply(405, { status: "method_not_allowed" }, ["allow", "GET, HEAD"]);
  }
  const server = await issuer();
  if (server === undefined) return reply(503, { status: "authorization_server_unknown" }, ["retry-after", "1"]);
  const { name, resource } = named;
  reply(200, {
    resource: resource.uri,
    authorization_servers: [server],
    scopes_supported: resource.scopes,
    bearer_methods_supported: ["header"],
    resource_name: name,
  });
}

/** The document is public, and clients that run in a page of a browser read it too (Fetch standard, CORS protocol). */
const fromPages = ["access-control-allow-origin", "*"];
const toPreflight = [
  ...["access-control-allow-methods", "GET, HEAD"],
  ...["access-control-allow-headers", "*"],
  ...["access-control-max-age", "600"],
];

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

function resourceAt({ all }: Upstreams, path: string): { name: string; resource: ProtectedResource } | undefined {
  for (const { name, resource } of all) {
    if (!resource) continue;
    const paths = [`${wellKnownResource}/${name}`, new URL(resource.metadata).pathname];
    if (paths.includes(path)) return { name, resource };
  }
  return undefined;
}
