import type { Hono } from "hono";
import type { App } from "../http/endpoint.ts";
import type { Deps } from "./deps.ts";

/**
 * The read-only pages for people, at `/console`. They stand beside the documented API: every request for them is answered
 * there, with a page. Their first reader has them loaded: most processes never show one.
 */
export function consoleRoutes(app: App, deps: Deps): void {
  let loading: Promise<Hono> | undefined;
  const load = async (): Promise<Hono> => {
    const { createConsole } = await import("../console/console.ts");
    return createConsole(deps);
  };
  const answer = async (request: Request): Promise<Response> => {
    loading ??= load();
    return (await loading).fetch(request);
  };
  app.all("/console", (c) => answer(c.req.raw));
  app.all("/console/*", (c) => answer(c.req.raw));
}
