import { audits } from "./audits.ts";
import { type Example, type Examples, inTurn } from "./base.ts";
import { emergencies } from "./emergencies.ts";
import { enforcementRoutes } from "./enforcement.ts";
import { hopRoutes } from "./hops.ts";
import { identities } from "./identities.ts";
import { registration } from "./registration.ts";
import { sessions } from "./sessions.ts";

export { narrowedToken, prepare } from "./base.ts";

const open =
  (path: string): Example =>
  (api) =>
    inTurn(() => api.call("GET", path));

export const examples: Examples = {
  ...registration,
  ...sessions,
  ...hopRoutes,
  ...audits,
  ...emergencies,
  ...identities,
  ...enforcementRoutes,
  "GET /.well-known/jwks.json": open("/.well-known/jwks.json"),
  "GET /.well-known/oauth-authorization-server": open("/.well-known/oauth-authorization-server"),
  "GET /livez": open("/livez"),
  "GET /readyz": open("/readyz"),
  "GET /metrics": open("/metrics"),
  "GET /openapi.json": open("/openapi.json"),
  "GET /docs": open("/docs"),
  "GET /docs/start.js": open("/docs/start.js"),
  "GET /docs/reference.js": open("/docs/reference.js"),
};
