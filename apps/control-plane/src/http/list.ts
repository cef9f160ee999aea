import type { CamelCased } from "@svc/core";
import type { z } from "zod";
import type { RouteAuth } from "./authentication.ts";
import type { Access, App } from "./endpoint.ts";
import { openPage, toPage } from "./page.ts";
import { type DecodedRequest, type Line, type Route, route } from "./route.ts";

interface ListDeps extends RouteAuth {
  /** Signs cursors; the same in every process. */
  readonly cursorKey: Uint8Array;
}

type PageSchema = z.ZodType<unknown, { data: unknown[]; page: { next_cursor: string | null; limit: number } }>;

interface List<L extends Line, A extends Access, Query extends z.ZodObject, Page extends PageSchema, Row>
  extends Omit<Route<L, A, Query, z.ZodUndefined, Page>, "reply" | "handle" | "query"> {
  /** With the members of `pagedQuery`. */
  readonly query: Query;
  readonly page: Page;
  /** Of the answer. Default: `One page.` */
  readonly description?: string;
  readonly rows: (
    request: ListRequest<Query> & Pick<DecodedRequest<L, A, Query, z.ZodUndefined>, "caller">,
  ) => Promise<readonly Row[]>;
  readonly item: (row: Row) => CamelCased<z.input<Page>["data"][number]>;
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

/** Mounts a route that answers a list page by page. */
export function list<
  const L extends Line,
  const A extends Access,
  Query extends z.ZodObject,
  Page extends PageSchema,
  Row,
>(app: App, deps: ListDeps, line: L, options: List<L, A, Query, Page, Row>): void {
  const { page: schema, description = "One page.", rows, item, position, ...facts } = options;
  const [, path = ""] = line.split(" ");
  route<L, A, Query, z.ZodUndefined, Page>(app, deps, line, {
    ...facts,
    reply: { description, schema },
    handle: async ({ caller, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, path, rawQuery, query as unknown as { limit: number; cursor?: string });
      const found = await rows({ caller, query, after: asked.after, limit: asked.limit + 1 });
      const { data, page } = toPage(deps.cursorKey, asked, found, item, position);
      return { data, page: { nextCursor: page.next_cursor, limit: page.limit } } as unknown as CamelCased<
        z.input<Page>
      >;
    },
  });
}
