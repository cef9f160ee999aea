import { keySet, serverMetadata, tokenExchangeGrantType } from "@svc/core";
import type { App } from "../http/endpoint.ts";
import { jsonResponse } from "../http/json-response.ts";
import { routesOf } from "../http/routes.ts";
import type { Deps } from "./deps.ts";

/** Short, so that a key that was removed at once is soon forgotten. */
const headers = { "Cache-Control": "public, max-age=60" };

export function wellKnownRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Issuer");
  route("GET /.well-known/jwks.json", {
    access: "none",
    summary: "The issuer's public keys.",
    reply: {
      description: "Every key that signs now, will sign next, or signed what is still valid.",
      schema: keySet,
    },
    errors: [],
    handle: async () => jsonResponse((await deps.issuerKeys.latest()).published, 200, headers),
  });

  route("GET /.well-known/oauth-authorization-server", {
    access: "none",
    summary: "Metadata by which a stock OAuth client finds the token endpoint.",
    reply: { description: "The metadata.", schema: serverMetadata },
    headers,
    errors: [],
    handle: () => toMetadata(deps.issuer),
  });
}

function toMetadata(issuer: string) {
  const at = (path: string): string => `${issuer.replace(/\/$/, "")}${path}`;
  return {
    issuer,
    tokenEndpoint: at("/v1/token/exchange"),
    jwksUri: at("/.well-known/jwks.json"),
    grantTypesSupported: [tokenExchangeGrantType],
    // Required by RFC 8414, and there is no authorization endpoint.
    responseTypesSupported: [],
    // The subject token is the credential.
    tokenEndpointAuthMethodsSupported: ["none"],
    serviceDocumentation: at("/docs"),
  };
}
