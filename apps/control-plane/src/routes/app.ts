import { Hono } from "hono";
import type { App } from "../http/endpoint.ts";
import { installErrorHandling } from "../http/error-handling.ts";
import { agentRoutes } from "./agents.ts";
import { auditRoutes } from "./audit.ts";
import { blockRoutes } from "./blocks.ts";
import { consentRoute } from "./consent.ts";
import { consoleRoutes } from "./console.ts";
import type { Deps } from "./deps.ts";
import { documentRoutes } from "./documents.ts";
import { healthRoutes } from "./health.ts";
import { authorizeRoute } from "./hop/authorize.ts";
import { exchangeRoute } from "./hop/exchange.ts";
import { renewRoute } from "./hop/renew.ts";
import { sessionTargetsRoute } from "./hop/session-targets.ts";
import { transactionRoute } from "./hop/transaction.ts";
import { enrollmentRoutes } from "./identity/enrollments.ts";
import { identityRoutes } from "./identity/identities.ts";
import { keyRoutes } from "./keys.ts";
import { manifestRoutes, registrationRoute } from "./manifests.ts";
import { scopeRoutes } from "./scopes.ts";
import { sessionRoutes } from "./sessions.ts";
import { wellKnownRoutes } from "./well-known.ts";

/** In the order in which the documentation shows them. */
const routes: readonly ((app: App, deps: Deps) => void)[] = [
  registrationRoute,
  agentRoutes,
  manifestRoutes,
  scopeRoutes,
  consentRoute,
  authorizeRoute,
  exchangeRoute,
  renewRoute,
  transactionRoute,
  sessionTargetsRoute,
  sessionRoutes,
  blockRoutes,
  keyRoutes,
  auditRoutes,
  enrollmentRoutes,
  identityRoutes,
  wellKnownRoutes,
  healthRoutes,
  documentRoutes,
  consoleRoutes,
];

/** Every route of the control plane over the given ports: it opens nothing and listens to nothing. */
export function createApp(deps: Deps): App {
  const app: App = Object.assign(new Hono(), { endpoints: [] });
  installErrorHandling(app, deps.events.requestFailed);
  for (const mountRoutes of routes) mountRoutes(app, deps);
  return app;
}
