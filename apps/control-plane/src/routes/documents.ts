import { openApiRead, plainText } from "@svc/core";
import type { App } from "../http/endpoint.ts";
import { jsonResponse } from "../http/json-response.ts";
import { routesOf } from "../http/routes.ts";
import type { Deps } from "./deps.ts";

/** Made once, at the first request, from the routes mounted by then: no start waits for documents. */
export function documentRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Documents");
  const document = once(async () => {
    const { openApiDocument } = await import("../http/openapi-document.ts");
    return openApiDocument(app.endpoints, deps);
  });
  route("GET /openapi.json", {
    access: "none",
    summary: "This API as an OpenAPI 3.1 document.",
    reply: { description: "The document.", schema: openApiRead },
    errors: [],
    handle: async () => jsonResponse(await document(), 200),
  });

  const rendered = once(async () => {
    const { docsPage } = await import("../http/docs-page.ts");
    return docsPage(await document());
  });
  route("GET /docs", {
    access: "none",
    summary: "The same for people.",
    reply: { description: "A page that loads nothing else.", schema: plainText, mediaType: "text/html" },
    errors: [],
    handle: async () => new Response(await rendered(), { headers: pageHeaders }),
  });
}

const pageHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
};

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
