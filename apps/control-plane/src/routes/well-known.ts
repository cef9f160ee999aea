import { keySet, serverMetadata, tokenExchangeGrantType } from "@svc/core";
import type { z } from "zod";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

const tag = "Issuer";

/** Short, since a key that was removed at once must be forgotten soon. */
const cached = { "Cache-Control": "public, max-age=60" };

export function wellKnownRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/.well-known/jwks.json",
      access: "none",
      tag,
      summary: "The issuer's public keys.",
      replies: {
        200: {
          description: "Every key that signs now, will sign next, or signed what is still valid.",
          schema: keySet,
        },
      },
      errors: [],
    },
    async ({ c }) => c.json((await deps.issuerKeys.latest()).published, 200, cached),
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: "/.well-known/oauth-authorization-server",
      access: "none",
      tag,
      summary: "Metadata by which a stock OAuth client finds the token endpoint.",
      replies: { 200: { description: "The metadata.", schema: serverMetadata } },
      errors: [],
    },
    ({ c }) => c.json(toMetadata(deps.issuer), 200, cached),
  );
}

const toMetadata = (issuer: string): z.input<typeof serverMetadata> => {
  const at = (path: string): string => `${issuer.replace(/\/$/, "")}${path}`;
  return {
    issuer,
    token_endpoint: at("/v1/token/exchange"),
    jwks_uri: at("/.well-known/jwks.json"),
    grant_types_supported: [tokenExchangeGrantType],
    // Required by RFC 8414, and there is no authorization endpoint.
    response_types_supported: [],
    // The subject token is the credential.
    token_endpoint_auth_methods_supported: ["none"],
    service_documentation: at("/docs"),
  };
};
