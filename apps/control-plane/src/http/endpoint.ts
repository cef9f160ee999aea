import type { ErrorCode } from "@svc/core";
import type { Hono } from "hono";
import type { z } from "zod";
import type { HopTokenKind } from "../commands/hop/subject-token.ts";
import type { Plane } from "./bearers.ts";

/** The router, and the routes of its document, in the order in which they were mounted. */
export interface App extends Hono {
  readonly endpoints: Endpoint[];
}

/** A plane's bearer; a hop token; the admin's bearer, or a credential in the body, which the route reads; or none. */
export type Access = Plane | HopTokenKind | "admin_if_sent" | "none";

/** One answer of a route: a body, or none. */
export interface Reply {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default `application/json`. */
  readonly mediaType?: string;
}

/** What the OpenAPI document says of a route. */
export interface Endpoint {
  readonly method: "get" | "post" | "put" | "delete";
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
  readonly errors: readonly ErrorCode[];
}
