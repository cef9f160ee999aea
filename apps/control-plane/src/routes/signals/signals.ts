import { Hono } from "hono";
import { installErrorHandling } from "../../http/error-handling.ts";
import type { App } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";
import { signalMetadata } from "./metadata.ts";
import { pollRoute } from "./poll.ts";
import { receiveRoute } from "./receive.ts";
import { streamRoutes } from "./streams.ts";

/** Shared signals (docs/reference/shared-signals.md#endpoints): beside the OpenAPI document, since others specify their bodies. */
export function signalRoutes(app: App, deps: Deps): void {
  const signals: App = Object.assign(new Hono(), { endpoints: [] });
  installErrorHandling(signals, deps.events.requestFailed);
  for (const mountRoutes of [receiveRoute, streamRoutes, pollRoute, signalMetadata]) mountRoutes(signals, deps);
  for (const path of ["/v1/signals/*", "/.well-known/ssf-configuration", "/.well-known/ssf-configuration/*"]) {
    app.all(path, (c) => signals.fetch(c.req.raw));
  }
}
