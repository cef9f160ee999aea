import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import type { Answer } from "./api.ts";

interface Content {
  readonly schema?: object;
}

interface Response {
  /** A refusal's description: its codes in backticks. */
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Documented {
  readonly security?: readonly Record<string, unknown>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, Content> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** One route as the OpenAPI document describes it. */
export interface Operation {
  /** `GET /v1/agents/{agent_id}/reconciliation`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** The first security scheme; undefined for a route without one. */
  readonly scheme: string | undefined;
  readonly mayBeAnonymous: boolean;
  readonly bodyType: string | undefined;
  /** Names of its query parameters. */
  readonly query: readonly string[];
  readonly statuses: readonly string[];
  /** `404 agent_not_found`, one for each status and code. */
  readonly refusals: readonly string[];
}

export interface ReadDocument {
  readonly operations: readonly Operation[];
  /** The operation of a request; `path` may have a query. */
  operationOf(method: string, path: string): Operation | undefined;
  /** One line for each difference between a response and the document. */
  faults(operation: Operation, answer: Answer): readonly string[];
}

// Node's CommonJS interop hides its default export behind the module's.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** A response may have only the members that the document names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  const isOpen = "properties" in parts && !("additionalProperties" in parts);
  return isOpen ? { ...parts, additionalProperties: false } : parts;
}

export function readDocument(document: Document): ReadDocument {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  const components = closed(document.components);
  const compiled = new Map<object, ValidateFunction>();
  const validatorOf = (schema: object): ValidateFunction => {
    const known = compiled.get(schema) ?? ajv.compile({ ...(closed(schema) as object), components });
    compiled.set(schema, known);
    return known;
  };
  const described = new Map<string, Documented>();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => {
      const operation = toOperation(method.toUpperCase(), path, documented);
      described.set(operation.name, documented);
      return operation;
    }),
  );
  return {
    operations,
    operationOf: (method, path) => findOperation(operations, method, path),
    faults({ name }, answer) {
      const response = described.get(name)?.responses[String(answer.status)];
      if (response === undefined) return [`status ${answer.status} is not documented: ${answer.text.slice(0, 200)}`];
      return contentFaults(response.content ?? {}, answer, validatorOf);
    },
  };
}

function toOperation(method: string, path: string, documented: Documented): Operation {
  const alternatives = (documented.security ?? []).map((alternative) => Object.keys(alternative));
  return {
    name: `${method} ${path}`,
    method,
    path,
    scheme: alternatives.flat()[0],
    mayBeAnonymous: alternatives.length === 0 || alternatives.some((schemes) => schemes.length === 0),
    bodyType: Object.keys(documented.requestBody?.content ?? {})[0],
    query: (documented.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name),
    statuses: Object.keys(documented.responses),
    refusals: Object.entries(documented.responses).flatMap(([status, { description }]) =>
      [...(status < "400" ? "" : description).matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
    ),
  };
}

/** A path without parameters precedes one with: `/v1/agents/resolve` is no id. */
function findOperation(operations: readonly Operation[], method: string, path: string): Operation | undefined {
  const bare = path.replace(/\?.*$/, "");
  const found = operations.filter(
    (operation) =>
      operation.method === method && new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(bare),
  );
  return found.find((operation) => operation.path === bare) ?? found[0];
}

function contentFaults(
  content: Readonly<Record<string, Content>>,
  answer: Answer,
  validatorOf: (schema: object) => ValidateFunction,
): readonly string[] {
  const types = Object.keys(content);
  if (types.length === 0) return answer.text === "" ? [] : [`${answer.status} has a body that is not documented`];
  const type = answer.headers.get("content-type")?.split(";")[0] ?? "none";
  if (!types.includes(type)) return [`${answer.status} is of type ${type}, documented is ${types.join(", ")}`];
  const schema = content[type]?.schema;
  if (schema === undefined) return [`${answer.status} has no schema`];
  const validate = validatorOf(schema);
  return valuesOf(type, answer).flatMap((value) => {
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${answer.status} ${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  });
}

/** A schema of NDJSON is that of a line. */
function valuesOf(type: string, { body, text }: Answer): readonly unknown[] {
  if (type === "application/x-ndjson")
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  return [type === "application/json" ? body : text];
}
