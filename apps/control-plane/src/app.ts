import { Hono } from "hono";
import type { Deps } from "./deps.ts";
import type { App } from "./http/endpoint.ts";
import { answerUnmatched } from "./http/unmatched.ts";
import { agentRoutes } from "./routes/agents.ts";
import { blockRoutes } from "./routes/blocks.ts";
import { chainRoute } from "./routes/chain.ts";
import { consentRoute } from "./routes/consent.ts";
import { consoleRoutes } from "./routes/console.ts";
import { decisionRoutes } from "./routes/decisions.ts";
import { documentRoutes } from "./routes/documents.ts";
import { eventsRoute } from "./routes/events.ts";
import { explanationRoute } from "./routes/explanation.ts";
import { healthRoutes } from "./routes/health.ts";
import { authorizeRoute } from "./routes/hop/authorize.ts";
import { exchangeRoute } from "./routes/hop/exchange.ts";
import { renewRoute } from "./routes/hop/renew.ts";
import { sessionTargetsRoute } from "./routes/hop/session-targets.ts";
import { transactionRoute } from "./routes/hop/transaction.ts";
import { enrollmentRoutes } from "./routes/identity/enrollments.ts";
import { identityRoutes } from "./routes/identity/identities.ts";
import { keyRoutes } from "./routes/keys.ts";
import { manifestRoutes } from "./routes/manifests.ts";
import { scopeRoutes } from "./routes/scopes.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { wellKnownRoutes } from "./routes/well-known.ts";
import { wouldBlockRoute } from "./routes/would-block.ts";

/** In the order in which the documentation shows them. */
const routes: readonly ((app: App, deps: Deps) => void)[] = [
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
  decisionRoutes,
  chainRoute,
  explanationRoute,
  eventsRoute,
  wouldBlockRoute,
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
  answerUnmatched(app, deps.events.requestFailed);
  for (const mountRoutes of routes) mountRoutes(app, deps);
  return app;
}
