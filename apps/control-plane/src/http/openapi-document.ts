import { OpenAPIHono } from "@hono/zod-openapi";
import type { Endpoint } from "./endpoint.ts";
import { registerSecuritySchemes, toOperation } from "./operation.ts";

export type OpenApiDocument = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

/** The routes as an OpenAPI 3.1 document. */
export function openApiDocument(
  endpoints: readonly Endpoint[],
  { version, issuer }: { readonly version: string; readonly issuer: string },
): OpenApiDocument {
  const gathering = new OpenAPIHono();
  registerSecuritySchemes(gathering.openAPIRegistry);
  for (const endpoint of endpoints) {
    gathering.openAPIRegistry.registerPath(toOperation(gathering.openAPIRegistry, endpoint));
  }
  return gathering.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Agent Authorization Service",
      version,
      description: "Authorizes what software agents may do for a consenting human, one hop at a time.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: issuer }],
  });
}
