import { Hono } from "hono";
import { installErrorHandling } from "../../http/error-handling.ts";
import type { App } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";
import { receiveRoute } from "./receive.ts";

/** Shared signals (docs/reference/shared-signals.md): beside the OpenAPI document, since others specify their bodies. */
export function signalRoutes(app: App, deps: Deps): void {
  const signals: App = Object.assign(new Hono(), { endpoints: [] });
  installErrorHandling(signals, deps.events.requestFailed);
  receiveRoute(signals, deps);
  app.all("/v1/signals/*", (c) => signals.fetch(c.req.raw));
}
