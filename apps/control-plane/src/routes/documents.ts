import { z } from "zod";
import type { Deps } from "../deps.ts";
import { docsPage } from "../http/docs-page.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";

const tag = "Documents";

/** Mounted last: the document is made, once, of the routes mounted before it and of these. */
export function documentRoutes(app: App, deps: Deps): void {
  const document = once(() =>
    app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: "Agent Authorization Service",
        version: deps.version,
        description: "Authorizes what software agents may do for a consenting human, one hop at a time.",
        license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
      },
      servers: [{ url: deps.issuer }],
    }),
  );
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/openapi.json",
      access: "none",
      tag,
      summary: "This API as an OpenAPI 3.1 document.",
      replies: { 200: { description: "The document.", schema: z.record(z.string(), z.unknown()) } },
      errors: [],
    },
    ({ c }) => c.json(document()),
  );

  const rendered = once(() => docsPage(document()));
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/docs",
      access: "none",
      tag,
      summary: "The same for people.",
      replies: { 200: { description: "A page that loads nothing else.", schema: z.string(), mediaType: "text/html" } },
      errors: [],
    },
    ({ c }) =>
      c.body(rendered(), 200, {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
      }),
  );
}

function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
