import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { type ErrorCode, errorEnvelope } from "@svc/core";
import { z } from "zod";
import { statusOf } from "./api-error.ts";
import type { Access } from "./authentication.ts";
import { codeSamples } from "./code-samples.ts";
import { requestExamples } from "./request-examples.ts";
import type { Endpoint } from "./routes.ts";

export type OpenApiDocument = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

/** How each kind of access is named in the document. */
const schemes = {
  admin: "The admin plane's bearer token.",
  audit: "The audit reader's bearer token.",
  identity: "The identity reader's bearer token.",
  enforcement: "An enforcement point's bearer token.",
  hop: "The caller's current-hop token.",
} as const;

/** A bearer of any of these opens the route. */
const schemesOf: Readonly<Record<Access, readonly (keyof typeof schemes | "none")[]>> = {
  admin: ["admin"],
  audit: ["audit", "admin"],
  identity: ["identity", "audit", "admin"],
  enforcement: ["enforcement"],
  signals: [],
  identity_or_enforcement: ["identity", "enforcement", "audit", "admin"],
  admin_if_sent: ["admin", "none"],
  current_hop: ["hop"],
  narrowed: ["hop"],
  none: [],
};

/** The routes as an OpenAPI 3.1 document; the named parts of their schemas become its components. */
export function openApiDocument(
  endpoints: readonly Endpoint[],
  { version, issuer }: { readonly version: string; readonly issuer: string },
): OpenApiDocument {
  const gathering = new OpenAPIHono();
  const registry = gathering.openAPIRegistry;
  for (const [name, description] of Object.entries(schemes)) {
    registry.registerComponent("securitySchemes", name, { type: "http", scheme: "bearer", description });
  }
  const named = new Set<string>();
  const contentOf: ContentOf = (schema, mediaType = "application/json") => {
    const define = (name: string, part: JsonSchema) => {
      if (!named.has(name)) registry.registerComponent("schemas", name, part);
      named.add(name);
    };
    return { [mediaType]: { schema: toJsonSchema(schema, define) } };
  };
  for (const endpoint of endpoints) registry.registerPath(toOperation(endpoint, contentOf));
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

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it. */
type JsonSchema = Record<string, unknown>;

type ContentOf = (schema: z.ZodType, mediaType?: string) => Record<string, { schema: JsonSchema }>;

function toOperation(endpoint: Endpoint, contentOf: ContentOf): RouteConfig {
  const { method, path, access, tag, summary, deprecated, query, body, bodyOptional, reads } = endpoint;
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, z.string()] as const);
  const read = body === undefined ? reads : { schema: body, mediaType: undefined };
  return {
    method,
    path,
    summary,
    tags: [tag],
    ...(deprecated && { deprecated }),
    // An empty requirement says that none is needed (OpenAPI 3.1 section 4.8.10.2).
    security: schemesOf[access].map((scheme) => (scheme === "none" ? {} : { [scheme]: [] })),
    request: {
      ...(params.length > 0 && { params: z.object(Object.fromEntries(params)) }),
      ...(query && { query }),
      ...(read && { body: { required: !bodyOptional, content: contentOf(read.schema, read.mediaType) } }),
    },
    "x-codeSamples": samplesOf(endpoint),
    responses: { ...replies(endpoint, contentOf), ...refusals(errorsOf(endpoint), contentOf(errorEnvelope)) },
  };
}

/** The variable of each plane's bearer, as the command line reads it. */
const variables: Readonly<Partial<Record<Access, string>>> = {
  admin: "SVC_ADMIN_TOKEN",
  admin_if_sent: "SVC_ADMIN_TOKEN",
  audit: "SVC_AUDIT_TOKEN",
  identity: "SVC_IDENTITY_TOKEN",
  enforcement: "SVC_ENFORCEMENT_TOKEN",
  identity_or_enforcement: "SVC_IDENTITY_TOKEN",
};

/** Absent for a route without an example. */
function samplesOf({ method, path, access }: Endpoint) {
  const example = requestExamples[`${method.toUpperCase()} ${path}`];
  return example && codeSamples({ method, path, bearer: example.bearer ?? variables[access] }, example);
}

const replies = (endpoint: Endpoint, contentOf: ContentOf) =>
  Object.fromEntries(
    Object.entries(endpoint.replies).map(([status, { description, schema, mediaType }]) => [
      status,
      { description, ...(schema && { content: contentOf(schema, mediaType) }) },
    ]),
  );

/** Those of the route and those that its kind of input and access brings along. */
function errorsOf({ access, body, reads, errors = [] }: Endpoint): readonly ErrorCode[] {
  const ofAccess: ErrorCode[] = access === "none" ? [] : ["unauthorized", "rate_limited"];
  const ofBody: ErrorCode[] = body === undefined ? [] : ["payload_too_large", "unsupported_media_type"];
  const ofInput: ErrorCode[] = reads === undefined ? ["invalid_request"] : [];
  return [...new Set([...ofInput, ...ofAccess, ...ofBody, ...errors, "internal" as const])];
}

const refusals = (codes: readonly ErrorCode[], content: ReturnType<ContentOf>) =>
  Object.fromEntries(
    [...Map.groupBy(codes, (code) => statusOf[code])].map(([status, group]) => [
      status,
      { description: group.map((code) => `\`${code}\``).join(", "), content },
    ]),
  );

const componentPrefix = "#/components/schemas/";

/**
 * The schema of what travels, with each named part (`.meta({ id })`) as a reference to a component; the parts are
 * handed to `define`.
 */
function toJsonSchema(schema: z.ZodType, define: (name: string, part: JsonSchema) => void): JsonSchema {
  const { $schema: _dialect, $defs = {}, ...whole } = generate(schema);
  for (const [name, part] of Object.entries($defs)) define(name, pointAtComponents(part) as JsonSchema);
  const { id, ...body } = pointAtComponents(whole) as JsonSchema;
  if (typeof id !== "string") return body;
  define(id, body);
  return { $ref: `${componentPrefix}${id}` };
}

const generate = (schema: z.ZodType): z.core.JSONSchema.BaseSchema =>
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // A guard in front of a schema says nothing about the shape; the schema behind it does.
      if (def.type === "pipe" && isGuard(def)) {
        const { $schema: _dialect, ...behind } = generate(def.out);
        Object.assign(jsonSchema, behind);
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });

const isGuard = (def: z.core.$ZodTypeDef): def is z.core.$ZodPipeDef<z.ZodCustom, z.ZodType> =>
  "in" in def && def.in instanceof z.ZodCustom;

/** `#/$defs/X` to `#/components/schemas/X`, everywhere. */
const pointAtComponents = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${componentPrefix}`));
