import { type CamelCase, type CamelCased, camelCase, fromWire, toWire } from "@svc/core";
import type { Context } from "hono";
import { z } from "zod";
import type { HopTokenKind, SubjectToken } from "../commands/hop/subject-token.ts";
import { type RouteAuth, requireCaller } from "./authentication.ts";
import type { Bearer, Plane } from "./bearers.ts";
import type { Access, App, Endpoint, Reply } from "./endpoint.ts";
import { decodeJson, readJsonText } from "./json-body.ts";
import { jsonResponse } from "./json-response.ts";
import { decodeQuery, type RawQuery, readQuery } from "./query.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** A method and a path, as `PUT /v1/blocks/{kind}/{ref}`. */
export type Line = `${Method} ${string}`;

const noParameters = z.strictObject({});
export type NoParameters = typeof noParameters;

/** A route as its module writes it: the facts for the document, and the handler. */
export interface Route<
  L extends Line,
  A extends Access,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> extends Omit<Endpoint, "method" | "path" | "replies"> {
  readonly access: A;
  readonly query?: Query;
  readonly body?: Body;
  /** The answer of a success; `status` is 200 by default. */
  readonly reply: Omit<Reply, "schema"> & { readonly status?: number; readonly schema?: Answer };
  /** Other answers that the handler makes itself, by status. */
  readonly otherReplies?: Readonly<Record<number, Reply>>;
  /** Of the success. Default `Cache-Control: no-store`: answers concern one caller, and some hold tokens. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @returns the answer in `camelCase`, or a whole response */
  readonly handle: (
    request: DecodedRequest<L, A, Query, Body>,
  ) => Promise<CamelCased<z.input<Answer>> | Response> | CamelCased<z.input<Answer>> | Response;
}

/** A request, decoded; names in `camelCase`. */
export interface DecodedRequest<L extends Line, A extends Access, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly c: Context;
  readonly caller: CallerOf<A>;
  /** Percent-decoded once, otherwise as sent. */
  readonly params: ParamsOf<L>;
  readonly query: CamelCased<z.output<Query>>;
  /** The parameters as they were sent. */
  readonly rawQuery: RawQuery;
  readonly body: CamelCased<z.output<Body>>;
  /** The body's exact text. */
  readonly bodyText: string;
}

type ParamsOf<L> = L extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in CamelCase<Name>]: string } & ParamsOf<Rest>
  : unknown;

type CallerOf<A extends Access> = A extends Plane
  ? Bearer
  : A extends "admin_if_sent"
    ? Bearer | undefined
    : A extends HopTokenKind
      ? SubjectToken
      : undefined;

const noStore = { "Cache-Control": "no-store" };

/**
 * Mounts a route and adds it to the OpenAPI document. It checks the credential and counts its rate before it reads
 * the request.
 */
export function route<
  const L extends Line,
  const A extends Access,
  Query extends z.ZodObject = NoParameters,
  Body extends z.ZodType = z.ZodUndefined,
  Answer extends z.ZodType = z.ZodVoid,
>(app: App, auth: RouteAuth, line: L, options: Route<L, A, Query, Body, Answer>): void {
  const { reply, otherReplies, headers = noStore, handle, ...facts } = options;
  const [method = "", path = ""] = line.split(" ");
  const { status = 200, ...success } = reply;
  const endpoint = {
    ...facts,
    method: method.toLowerCase() as Endpoint["method"],
    path,
    replies: { [status]: success, ...otherReplies },
  };
  app.endpoints.push(endpoint);
  app.on(method, path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
    const caller = await requireCaller(auth, endpoint.access, c.req.raw.headers.get("authorization"));
    const request: unknown = { c, caller, ...(await decoded(endpoint, c)) };
    // Held to the generic types by what was just decoded, which the compiler cannot follow.
    const answer = await handle(request as DecodedRequest<L, A, Query, Body>);
    if (answer instanceof Response) return answer;
    return reply.schema === undefined
      ? new Response(null, { status, headers })
      : jsonResponse(toWire(reply.schema, answer as CamelCased<z.input<Answer>>) as object, status, headers);
  });
}

async function decoded({ query = noParameters, body, bodyOptional, reads }: Endpoint, c: Context) {
  const rawQuery = reads === undefined ? readQuery(c.req.raw.url) : {};
  const bodyText = body === undefined ? "" : await readText(bodyOptional, c.req.raw);
  return {
    params: Object.fromEntries(Object.entries(c.req.param()).map(([name, value]) => [camelCase(name), value])),
    query: reads === undefined ? fromWire(query, decodeQuery(rawQuery, query)) : undefined,
    rawQuery,
    body: body && fromWire(body, decodeJson(bodyText, body)),
    bodyText,
  };
}

const readText = async (bodyOptional: true | undefined, request: Request): Promise<string> =>
  bodyOptional && isWithoutBody(request.headers) ? "{}" : readJsonText(request);

/** RFC 9112 section 6: neither header, no body. */
const isWithoutBody = (headers: Headers): boolean =>
  (headers.get("content-length") ?? "0") === "0" && !headers.has("transfer-encoding") && !headers.has("content-type");
