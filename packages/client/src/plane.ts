import { type CamelCased, fromWire, snakeCase } from "@svc/core";
import { parseBody, type StepPorts, send, type TransportResponse, unusable } from "@svc/hop";
import { withMemberText } from "@svc/tokens";
import type { z } from "zod";
import { ControlPlaneUnavailable, errorOf, type IsRejection, type RequestLine } from "./errors.ts";

/** Options of every call. */
export interface CallOptions {
  /** After an abort the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A response body as the methods return it: in `camelCase`, times in ISO 8601, UTC. */
export type BodyOf<Schema extends z.ZodType> = CamelCased<z.output<Schema>>;

/** A query or request body. Times are a `Date`, or ISO 8601 text with an offset. */
export type RequestBody<Schema extends z.ZodType> = {
  readonly [Name in keyof BodyOf<Schema>]?:
    | (Name extends "since" | "until" ? string | Date : BodyOf<Schema>[Name])
    | undefined;
};

/** One page of a list (docs/reference/conventions.md#pages). */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly page: {
    /** Null on the last page. */
    readonly nextCursor: string | null;
    readonly limit: number;
  };
}

/** Query of every paged read. */
export interface PageQuery {
  /** 1-200; the control plane's default is 50. */
  readonly limit?: number | undefined;
  /** `page.nextCursor` of the page before, of the same query. */
  readonly cursor?: string | undefined;
}

/** Every row of a list; pages are read as the loop needs them. */
export async function* everyRow<Row>(
  read: (cursor: string | undefined) => Promise<Page<Row>>,
): AsyncGenerator<Row, void, undefined> {
  let cursor: string | undefined;
  do {
    const { data, page } = await read(cursor);
    yield* data;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/**
 * Sends a request and returns the response's body as `schema` reads it.
 * @param members of the query of a GET, else of the body, in `camelCase`; one that is undefined is not sent
 * @throws {ControlPlaneRejected} where the control plane refuses, {ControlPlaneUnavailable} for anything else that is
 * not the expected status with a body that `schema` reads
 */
type Request = <Schema extends z.ZodType>(...request: RequestOf<Schema>) => Promise<BodyOf<Schema>>;

type RequestOf<Schema extends z.ZodType> = [
  path: string,
  schema: Schema,
  options: CallOptions | undefined,
  members?: object,
];

export interface PlanePorts {
  readonly steps: StepPorts;
  readonly timeoutMs: number;
}

/** A page of 200 decisions, or a manifest of 1 MiB with every character escaped. */
const maxResponseBytes = 8 * 1024 * 1024;

export type Plane = ReturnType<typeof createPlane>;

/** Sends requests of one group of routes under one bearer. */
export function createPlane(ports: PlanePorts, bearer: string | undefined, isRejection?: IsRejection) {
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };

  async function expectedResponse(
    line: RequestLine,
    expected: number,
    { signal }: CallOptions = {},
    members?: object,
  ): Promise<TransportResponse> {
    const { method, path } = line;
    const given = members && inSnakeCase(members);
    const content =
      method === "GET" || !given
        ? { path: path + queryText(given), headers: authorization }
        : { path, headers: { ...authorization, "content-type": "application/json" }, body: jsonOf(given) };
    const options = { deadlineMs: ports.timeoutMs, ...(signal && { signal }) };
    const sent = await send(ports.steps, { method, ...content, maxResponseBytes }, options);
    if (sent.kind === "unusable") throw errorOf(line, sent, signal, isRejection);
    const { response } = sent;
    if (response.status !== expected) throw errorOf(line, unusable("status", response), signal, isRejection);
    return response;
  }

  const bodyOf = <Schema extends z.ZodType>(line: RequestLine, schema: Schema, response: TransportResponse) => {
    const read = parseBody(schema, response);
    // Without the response: the body of a success may hold a token.
    if (read === undefined) throw new ControlPlaneUnavailable(line, "malformed");
    return fromWire(schema, read);
  };

  const requests =
    (method: RequestLine["method"], expected = 200): Request =>
    async (path, schema, options, members) => {
      const line = { method, path };
      return bodyOf(line, schema, await expectedResponse(line, expected, options, members));
    };

  return {
    get: requests("GET"),
    /** GET, with the body's own text: a parse loses the spelling of numbers. */
    async getWithText<Schema extends z.ZodType>(...[path, schema, options, members]: RequestOf<Schema>) {
      const line = { method: "GET", path } as const;
      const response = await expectedResponse(line, 200, options, members);
      return { read: bodyOf(line, schema, response), text: response.body };
    },
    post: requests("POST"),
    /** POST, whose success is 201. */
    create: requests("POST", 201),
    put: requests("PUT"),
    /** DELETE, whose success is 204 without a body. @throws as the others */
    async remove(path: string, options: CallOptions | undefined): Promise<void> {
      await expectedResponse({ method: "DELETE", path }, 204, options);
    },
  };
}

/** A member whose JSON is sent as it is: a parse and a stringify would change its numbers and escapes. */
export class JsonText {
  readonly text: string;

  /** @throws {SyntaxError} for what is no JSON */
  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }
}

function jsonOf(members: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const [name, asText] = given.find(([, value]) => value instanceof JsonText) ?? [];
  if (name === undefined || !(asText instanceof JsonText)) return JSON.stringify(members);
  return withMemberText(Object.fromEntries(given.filter(([other]) => other !== name)), name, asText.text);
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The members' names only: what they hold is data. */
const inSnakeCase = (value: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), member]));

/**
 * A path's segment. @throws {TypeError} for an empty name, `.` and `..`, which URL parsers resolve, and a lone
 * surrogate
 */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name) || !name.isWellFormed()) throw new TypeError("this name cannot be a path segment");
  return encodeURIComponent(name);
}
