import type { ConsolePorts } from "@svc/console";
import type { Hono } from "hono";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { toApiError } from "../http/error-response.ts";
import { readForm } from "../http/form.ts";
import { invalidRequest } from "../http/issues.ts";
import { readQuery } from "../http/query.ts";
import { rateLimited } from "../http/rate-limit.ts";
import { consoleReads } from "./console-reads.ts";
import type { Deps } from "./deps.ts";

/** The read-only pages at `/console`. Loaded at the first request: most processes never show one. */
export function consoleRoutes(app: App, deps: Deps): void {
  let loading: Promise<Hono> | undefined;
  const load = async (): Promise<Hono> => {
    const { createConsole } = await import("@svc/console");
    return createConsole(consolePorts(deps));
  };
  const answer = async (request: Request): Promise<Response> => {
    loading ??= load();
    return (await loading).fetch(request);
  };
  app.all("/console", (c) => answer(c.req.raw));
  app.all("/console/*", (c) => answer(c.req.raw));
}

const consolePorts = (deps: Deps): ConsolePorts => ({
  reads: consoleReads(deps),
  clock: deps.clock,
  version: deps.version,
  signIn: deps.console,
  viewerOf(token) {
    try {
      return deps.bearers("audit", `Bearer ${token}`);
    } catch (error) {
      if (error instanceof ApiError && error.code === "unauthorized") return undefined;
      throw error;
    }
  },
  async countCall(viewer) {
    const waitSeconds = await deps.limits.bearer(viewer);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
  },
  readQuery,
  async readForm(request) {
    const form = await readForm(request);
    if (!form.ok) throw invalidRequest(form.description);
    return form.fields;
  },
  refusalOf(thrown) {
    const error = toApiError(thrown);
    if (error.code === "internal") deps.events.requestFailed(thrown);
    return error;
  },
});
