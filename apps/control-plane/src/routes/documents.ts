import { z } from "zod";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

const tag = "Documents";

/** Of the routes that are mounted by then, made once and by the first who asks: no start waits for documents. */
export function documentRoutes(app: App, deps: Deps): void {
  const document = once(async () => {
    const { openApiDocument } = await import("../http/openapi-document.ts");
    return openApiDocument(app.endpoints, deps);
  });
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
    async ({ c }) => c.json(await document()),
  );

  const rendered = once(async () => {
    const { docsPage } = await import("../http/docs-page.ts");
    return docsPage(await document());
  });
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
    async ({ c }) =>
      c.body(await rendered(), 200, {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
      }),
  );
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
