import type { OpenAPIHono, RouteConfig } from "@hono/zod-openapi";
import { type ErrorCode, errorEnvelope } from "@svc/core";
import { z } from "zod";
import { statusOf } from "./api-error.ts";
import type { Access, Endpoint, Reply } from "./endpoint.ts";
import { type JsonSchema, toJsonSchema } from "./json-schema.ts";

/** Where the document's parts are gathered. */
export type Registry = OpenAPIHono["openAPIRegistry"];

/** How each kind of access is named in the document. */
const schemes = {
  admin: "The admin plane's bearer token.",
  audit: "The audit reader's bearer token.",
  identity: "The identity reader's bearer token.",
  hop: "The caller's current-hop token.",
} as const;

/** A bearer of any of these opens the route. */
const schemesOf: Readonly<Record<Access, readonly (keyof typeof schemes | "none")[]>> = {
  admin: ["admin"],
  audit: ["audit", "admin"],
  identity: ["identity", "audit", "admin"],
  admin_if_sent: ["admin", "none"],
  current_hop: ["hop"],
  narrowed: ["hop"],
  none: [],
};

/** The security schemes that operations refer to. */
export function registerSecuritySchemes(registry: Registry): void {
  for (const [name, description] of Object.entries(schemes)) {
    registry.registerComponent("securitySchemes", name, { type: "http", scheme: "bearer", description });
  }
}

/** A route as an OpenAPI 3.1 operation; the named parts of its schemas become components of the document. */
export function toOperation(registry: Registry, endpoint: Endpoint): RouteConfig {
  const { method, path, access, tag, summary, deprecated, query } = endpoint;
  const params = paramNames(path);
  return {
    method,
    path,
    summary,
    tags: [tag],
    ...(deprecated && { deprecated }),
    // An empty requirement says that none is needed (OpenAPI 3.1 section 4.8.10.2).
    security: schemesOf[access].map((scheme) => (scheme === "none" ? {} : { [scheme]: [] })),
    request: {
      ...(params.length > 0 && { params: z.object(Object.fromEntries(params.map((name) => [name, z.string()]))) }),
      ...(query && { query }),
      ...requestBody(registry, endpoint),
    },
    responses: { ...replies(registry, endpoint.replies), ...refusals(registry, errorsOf(endpoint)) },
  };
}

const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []);

function requestBody(registry: Registry, { body, bodyOptional, reads }: Endpoint) {
  const read = body === undefined ? reads : { mediaType: "application/json", schema: body };
  if (read === undefined) return {};
  return {
    body: { required: !bodyOptional, content: { [read.mediaType]: { schema: schemaOf(registry, read.schema) } } },
  };
}

const replies = (registry: Registry, declared: Readonly<Record<number, Reply>>) =>
  Object.fromEntries(
    Object.entries(declared).map(([status, { description, schema, mediaType = "application/json" }]) => [
      status,
      schema === undefined
        ? { description }
        : { description, content: { [mediaType]: { schema: schemaOf(registry, schema) } } },
    ]),
  );

/** Those of the route and those that its kind of input and access brings along. */
function errorsOf({ access, body, reads, errors }: Endpoint): readonly ErrorCode[] {
  const ofAccess: ErrorCode[] = access === "none" ? [] : ["unauthorized", "rate_limited"];
  const ofBody: ErrorCode[] = body === undefined ? [] : ["payload_too_large", "unsupported_media_type"];
  const ofInput: ErrorCode[] = reads === undefined ? ["invalid_request"] : [];
  return [...new Set([...ofInput, ...ofAccess, ...ofBody, ...errors, "internal" as const])];
}

function refusals(registry: Registry, codes: readonly ErrorCode[]) {
  const byStatus = Map.groupBy(codes, (code) => statusOf[code]);
  const content = { "application/json": { schema: schemaOf(registry, errorEnvelope) } };
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { description: group.map((code) => `\`${code}\``).join(", "), content },
    ]),
  );
}

function schemaOf(registry: Registry, schema: z.ZodType): JsonSchema {
  return toJsonSchema(schema, (name, part) => {
    const known = registry.definitions.some(
      (definition) => definition.type === "component" && definition.name === name,
    );
    if (!known) registry.registerComponent("schemas", name, part);
  });
}
