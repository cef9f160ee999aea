import { Hono } from "hono";
import { installErrorHandling } from "../http/error-handling.ts";
import type { App } from "../http/routes.ts";
import { consentPageRoutes } from "../people/consent-pages.ts";
import { handleRoutes } from "../people/handle-routes.ts";
import { signInAdminRoutes } from "../people/sign-in-admin.ts";
import { signInRoutes } from "../people/sign-in-routes.ts";
import { tokenEndpoint } from "../people/token-endpoint.ts";
import { agentRoutes } from "./agents.ts";
import { auditRoutes } from "./audit.ts";
import { blockRoutes } from "./blocks.ts";
import { consoleRoutes } from "./console.ts";
import type { Deps } from "./deps.ts";
import { authorizeRoute, renewRoute, sessionTargetsRoute } from "./hop/current-hop.ts";
import { exchangeRoute } from "./hop/exchange.ts";
import { hopsRoute } from "./hop/hops.ts";
import { transactionRoute } from "./hop/transaction.ts";
import { enrollmentRoutes, identityRoutes } from "./identity.ts";
import { keyRoutes } from "./keys.ts";
import { manifestRoutes, registrationRoute, scopeRoutes } from "./manifests.ts";
import { documentRoutes, healthRoutes, wellKnownRoutes } from "./public.ts";
import { pushRoute } from "./push.ts";
import { replayRoute } from "./replay.ts";
import { consentRoute, sessionRoutes } from "./sessions.ts";
import { signalRoutes } from "./signals/signals.ts";
import { sinkRoutes } from "./sinks.ts";

/** In the order in which the documentation shows them. */
const routes: readonly ((app: App, deps: Deps) => void)[] = [
  registrationRoute,
  agentRoutes,
  manifestRoutes,
  scopeRoutes,
  consentRoute,
  authorizeRoute,
  exchangeRoute,
  hopsRoute,
  renewRoute,
  transactionRoute,
  sessionTargetsRoute,
  sessionRoutes,
  signInAdminRoutes,
  blockRoutes,
  keyRoutes,
  auditRoutes,
  replayRoute,
  sinkRoutes,
  enrollmentRoutes,
  identityRoutes,
  pushRoute,
  wellKnownRoutes,
  healthRoutes,
  documentRoutes,
  handleRoutes,
  signInRoutes,
  consentPageRoutes,
  tokenEndpoint,
  signalRoutes,
  consoleRoutes,
];

/** Every route of the control plane over the given ports: it opens nothing and listens to nothing. */
export function createApp(deps: Deps): App {
  const app: App = Object.assign(new Hono(), { endpoints: [] });
  installErrorHandling(app, deps.events.requestFailed);
  for (const mountRoutes of routes) mountRoutes(app, deps);
  return app;
}
