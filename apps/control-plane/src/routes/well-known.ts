import { tokenExchangeGrantType } from "@svc/core";
import { z } from "zod";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

const tag = "Issuer";

/** Short, since a key that was removed at once must be forgotten soon. */
const cached = { "Cache-Control": "public, max-age=60" };

const keySet = z
  .object({ keys: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: "JsonWebKeySet", description: "RFC 7517." });

const metadata = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    jwks_uri: z.string(),
    grant_types_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    service_documentation: z.string(),
  })
  .meta({ id: "AuthorizationServerMetadata", description: "RFC 8414 section 2." });

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
      replies: { 200: { description: "The metadata.", schema: metadata } },
      errors: [],
    },
    ({ c }) => c.json(toMetadata(deps.issuer), 200, cached),
  );
}

const toMetadata = (issuer: string): z.input<typeof metadata> => {
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
