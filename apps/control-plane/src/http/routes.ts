import { type CamelCase, type CamelCased, camelCase, type ErrorCode, fromWire, noQuery, toWire } from "@svc/core";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import type { HopTokenKind, SubjectToken } from "../commands/hop/hop-tokens.ts";
import { type Access, type RouteAuth, requireCaller } from "./authentication.ts";
import type { Bearer, Plane } from "./bearers.ts";
import { decodeJson, readJsonText } from "./json-body.ts";
import { type FoundRows, type Paging, readPage } from "./page.ts";
import { decodeQuery, type RawQuery, readQuery } from "./query.ts";

/** The router, and the routes of its document, in the order in which they were mounted. */
export interface App extends Hono {
  readonly endpoints: Endpoint[];
}

/** One answer of a route: a body, or none. */
export interface Reply {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default `application/json`. */
  readonly mediaType?: string;
}

/** What the OpenAPI document says of a route. */
export interface Endpoint {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** In OpenAPI spelling: `/v1/agents/{agent_id}/reconciliation`. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly deprecated?: true | undefined;
  /** Query parameters; without it, there are none. */
  readonly query?: z.ZodObject | undefined;
  /** A JSON body; without it, none is read. */
  readonly body?: z.ZodType | undefined;
  /** A request without any body counts as one with `{}`. */
  readonly bodyOptional?: true | undefined;
  /** For a route that reads query and body itself: only documented here. */
  readonly reads?: { readonly mediaType: string; readonly schema: z.ZodType } | undefined;
  readonly replies: Readonly<Record<number, Reply>>;
  /** Beyond those that follow from access, query and body. */
  readonly errors?: readonly ErrorCode[];
}

/** A method and a path, as `PUT /v1/blocks/{kind}/{ref}`. */
type Line = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} ${string}`;

/** A route as its module writes it: the facts for the document, and the handler. */
interface Route<
  L extends Line,
  A extends Access,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> extends Omit<Endpoint, "method" | "path" | "replies" | "tag"> {
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
interface DecodedRequest<L extends Line, A extends Access, Query extends z.ZodObject, Body extends z.ZodType> {
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

type CallerOf<A extends Access> = A extends Plane | "identity_or_enforcement"
  ? Bearer
  : A extends "admin_if_sent"
    ? Bearer | undefined
    : A extends HopTokenKind
      ? SubjectToken
      : undefined;

/** The rows of a list, for a route or a page of the console. */
export interface PagedRead<Query extends z.ZodObject, Row, Caller = unknown> {
  /** With the members of `pagedQuery`. */
  readonly query: Query;
  readonly rows: (request: ListRequest<Query> & { readonly caller: Caller }) => Promise<FoundRows<Row>>;
  /** Names the row in a cursor. */
  readonly position: (row: Row) => string;
}

/** Which rows of a list are read. */
export interface ListRequest<Query extends z.ZodType> {
  readonly query: CamelCased<z.output<Query>>;
  /** The position of the row before; undefined for the first page. */
  readonly after: string | undefined;
  /** One more than the page holds, so that it shows whether another follows. */
  readonly limit: number;
}

type PageSchema = z.ZodType<unknown, { data: unknown[]; page: { next_cursor: string | null; limit: number } }>;

interface List<L extends Line, A extends Access, Query extends z.ZodObject, Page extends PageSchema, Row>
  extends Omit<Route<L, A, Query, z.ZodUndefined, Page>, "reply" | "handle" | "query">,
    PagedRead<Query, Row, CallerOf<A>> {
  readonly page: Page;
  /** Of the answer. Default: `One page.` */
  readonly description?: string;

  readonly item: (row: Row) => CamelCased<z.input<Page>["data"][number]>;
}

export interface RoutesDeps extends RouteAuth {
  /** Signs cursors; the same in every process. */
  readonly cursorKey: Uint8Array;
}

/** Mounts routes under one tag of the OpenAPI document. */
export function routesOf(app: App, deps: RoutesDeps, tag: string) {
  /** A route. It checks the credential and counts its rate before it reads the request. */
  function route<
    const L extends Line,
    const A extends Access,
    Query extends z.ZodObject = typeof noQuery,
    Body extends z.ZodType = z.ZodUndefined,
    Answer extends z.ZodType = z.ZodVoid,
  >(line: L, options: Route<L, A, Query, Body, Answer>): void {
    const { reply, otherReplies, headers = noStore, handle, ...facts } = options;
    const { status = 200, ...success } = reply;
    const { method, path } = parsed(line);
    const endpoint: Endpoint = { ...facts, method, path, tag, replies: { [status]: success, ...otherReplies } };
    app.endpoints.push(endpoint);
    app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
      const caller = await requireCaller(deps, endpoint.access, c.req.raw.headers.get("authorization"));
      const request: unknown = { c, caller, ...(await decoded(endpoint, c)) };
      // Held to the generic types by what was just decoded, which the compiler cannot follow.
      const answer = await handle(request as DecodedRequest<L, A, Query, Body>);
      if (answer instanceof Response) return answer;
      return reply.schema === undefined
        ? new Response(null, { status, headers })
        : jsonResponse(toWire(reply.schema, answer as CamelCased<z.input<Answer>>) as object, status, headers);
    });
  }

  /** A route that answers a list page by page. Its default error is `database_unavailable`. */
  function list<const L extends Line, const A extends Access, Query extends z.ZodObject, Page extends PageSchema, Row>(
    line: L,
    options: List<L, A, Query, Page, Row>,
  ): void {
    const { page: schema, description = "One page.", rows, item, position, ...facts } = options;
    route<L, A, Query, z.ZodUndefined, Page>(line, {
      errors: ["database_unavailable"],
      ...facts,
      reply: { description, schema },
      handle: async ({ caller, query, rawQuery }) => {
        const paging = query as unknown as Paging;
        const read = (at: { after: string | undefined; limit: number }) => rows({ caller, query, ...at });
        const found = await readPage(deps.cursorKey, parsed(line).path, rawQuery, paging, read, position);
        return { data: found.rows.map(item), page: found.page } as unknown as CamelCased<z.input<Page>>;
      },
    });
  }

  return { route, list };
}

function parsed(line: Line): Pick<Endpoint, "method" | "path"> {
  const [method = "", path = ""] = line.split(" ");
  return { method: method.toLowerCase() as Endpoint["method"], path };
}

async function decoded({ query = noQuery, body, bodyOptional, reads }: Endpoint, c: Context) {
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

const noStore = { "Cache-Control": "no-store" };

/**
 * A JSON answer with these headers and no others. The adapter writes a plain list of headers as it is; those that a
 * Hono context gathers go through `Headers` first, which took a fifth of such a request.
 */
export const jsonResponse = (
  body: object | string,
  status = 200,
  headers: Record<string, string> = noStore,
): Response =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
