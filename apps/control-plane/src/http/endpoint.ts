import type { ErrorCode } from "@svc/core";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import type { HopTokenKind, SubjectToken } from "../commands/hop/subject-token.ts";
import type { Bearer, Plane } from "./bearers.ts";
import type { RawQuery } from "./query.ts";

/** The router, and the routes that its document describes, in the order in which they were mounted. */
export interface App extends Hono {
  readonly endpoints: Endpoint[];
}

/**
 * A plane's bearer; a hop token; `admin_if_sent`: the admin's, or a credential in the body, which the route reads; or
 * none.
 */
export type Access = Plane | HopTokenKind | "admin_if_sent" | "none";

/** One body that a route answers, or none. */
export interface Reply {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default `application/json`. */
  readonly mediaType?: string;
}

/** What a route is, for the router and for the OpenAPI document alike. */
export interface Endpoint<
  Path extends string = string,
  A extends Access = Access,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  readonly method: "get" | "post" | "put" | "delete";
  /** In OpenAPI spelling: `/v1/agents/{agent_id}/reconciliation`. */
  readonly path: Path;
  readonly access: A;
  readonly tag: string;
  readonly summary: string;
  readonly deprecated?: true;
  /** Query parameters; without it, there are none. */
  readonly query?: Query;
  /** A JSON body; without it, none is read. */
  readonly body?: Body;
  /** A request without any body counts as one with `{}`. */
  readonly bodyOptional?: true;
  /** For a route that reads query and body itself: only documented here. */
  readonly reads?: { readonly mediaType: string; readonly schema: z.ZodType };
  readonly replies: Readonly<Record<number, Reply>>;
  /** Its answers are made with all their headers; the others get `Cache-Control: no-store` where they do not say. */
  readonly ownHeaders?: true;
  /** Beyond those that follow from access, query and body. */
  readonly errors: readonly ErrorCode[];
}

type ParamsOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<Rest>
  : unknown;

type CallerOf<A extends Access> = A extends Plane
  ? Bearer
  : A extends "admin_if_sent"
    ? Bearer | undefined
    : A extends HopTokenKind
      ? SubjectToken
      : undefined;

/** A request, decoded: what is left to a route is to call and to reply. */
export interface Decoded<Path extends string, A extends Access, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly c: Context;
  readonly caller: CallerOf<A>;
  /** Percent-decoded once, otherwise as sent. */
  readonly params: ParamsOf<Path>;
  readonly query: z.output<Query>;
  /** The same as it was sent. */
  readonly rawQuery: RawQuery;
  readonly body: z.output<Body>;
  /** The body's exact text. */
  readonly bodyText: string;
}
