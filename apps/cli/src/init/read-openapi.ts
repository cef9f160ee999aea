import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type Fault, notTried } from "../fault.ts";
import { shown } from "../output.ts";
import type { Source } from "./source.ts";

const text = z.string().optional().catch(undefined);

/** A body that must be one JSON object can be bound; how it is described decides. */
const requestBody = z
  .object({
    required: z.boolean().optional().catch(undefined),
    content: z
      .record(z.string(), z.object({ schema: z.object({ type: z.unknown() }).optional().catch(undefined) }).catch({}))
      .catch({}),
  })
  .optional()
  .catch(undefined);

const server = z.object({
  url: z.string(),
  variables: z
    .record(z.string(), z.object({ default: z.coerce.string() }))
    .optional()
    .catch(undefined),
});
const servers = z.array(server).optional().catch(undefined);

const operation = z.object({ operationId: text, requestBody, servers });
export type Operation = z.output<typeof operation>;

/** OpenAPI 3.2 has QUERY. */
export const operationMethods = ["get", "head", "options", "trace", "query", "post", "put", "patch", "delete"] as const;
export type OperationMethod = (typeof operationMethods)[number];

const member = operation.optional().catch(undefined);
const pathItem = z.object({
  ...{ get: member, head: member, options: member, trace: member, query: member },
  ...{ post: member, put: member, patch: member, delete: member, servers },
});

/** What is read of an OpenAPI document; every other member is ignored. */
const openApi = z.object({
  openapi: z.string().regex(/^3\.\d+(\.\d+)?/),
  servers,
  paths: z.record(z.string(), pathItem).default({}),
});
export type OpenApi = z.output<typeof openApi>;

const maxBytes = 20 * 1024 * 1024;
const timeoutMs = 10_000;

/** Reads OpenAPI 3, JSON or YAML, with its internal references replaced. @throws {Fault} that says what to do */
export async function readOpenApi({ name, place }: Extract<Source, { kind: "openapi" }>): Promise<OpenApi> {
  const refuse = (what: string, advice: string, cause?: unknown): Fault =>
    notTried(`${name}: ${shown(place)} ${what}`, advice, cause);
  const content = await contentOf(place, refuse);
  const { parse } = await import("yaml");
  let document: unknown;
  try {
    // Timestamps and the like stay texts, as in JSON.
    document = parse(content, { schema: "core", maxAliasCount: 1_000 });
  } catch (cause) {
    throw refuse("is neither JSON nor YAML", "Give an OpenAPI 3 document.", cause);
  }
  if (isObject(document) && "swagger" in document) {
    throw refuse("is a document of Swagger 2.0", "Convert it to OpenAPI 3 first.");
  }
  const read = openApi.safeParse(isObject(document) ? await dereferenced(document) : document);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined ? "" : `: ${issue.path.join(".") || "the whole"}: ${issue.message}`;
  throw refuse(`is no OpenAPI 3 document${where}`, "Give a document with openapi: 3.x.x and paths.");
}

/**
 * What refers to other files or to the network stays a reference. A schema may hold itself then: it is read at its top
 * alone.
 */
async function dereferenced(document: object): Promise<unknown> {
  const { $RefParser } = await import("@apidevtools/json-schema-ref-parser");
  return $RefParser.dereference(document, { resolve: { external: false } }).catch(() => document);
}

type Refuse = (what: string, advice: string, cause?: unknown) => Fault;

async function contentOf(place: string, refuse: Refuse): Promise<string> {
  if (!/^https?:\/\//.test(place)) {
    return readFile(place, "utf8").catch((cause: unknown) => {
      throw refuse("cannot be read", "Check the path.", cause);
    });
  }
  const response = await fetch(place, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }).catch(
    (cause: unknown) => {
      throw refuse("cannot be reached", "Start the API, or give the document as a file.", cause);
    },
  );
  if (!response.ok) throw refuse(`answers ${response.status}`, "Correct its address, or give the document as a file.");
  const content = await response.text();
  if (content.length > maxBytes) throw refuse("is longer than 20 MiB", "Give a shorter document as a file.");
  return content;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** The API's base address: as given, else the first server of the document, relative to where the document is. */
export function baseUrlOf({ name, place, url }: Extract<Source, { kind: "openapi" }>, { servers }: OpenApi) {
  const base = URL.parse(url ?? addressOf(servers), /^https?:/.test(place) ? place : undefined);
  if (base !== null && /^https?:$/.test(base.protocol) && `${base.username}${base.password}` === "") {
    return (base.origin + base.pathname).replace(/\/+$/, "");
  }
  throw notTried(
    `${name}: the document names no address of its API`,
    `Give the address: --http ${name}=https://api.example.com, beside --openapi.`,
  );
}

/** The first server's URL, with its variables' defaults. */
export const addressOf = ([first]: OpenApi["servers"] = []): string =>
  Object.entries(first?.variables ?? {}).reduce(
    (address, [variable, { default: value }]) => address.replaceAll(`{${variable}}`, value),
    first?.url ?? "/",
  );
