import { type PolicyIndex, scopeCatalog, scopeCatalogQuery, toCatalog } from "@svc/core";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { jsonResponse } from "../http/json-response.ts";
import { routesOf } from "../http/routes.ts";
import type { Deps } from "./deps.ts";

export function scopeRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Scopes");
  route("GET /v1/scopes/{scope}/catalog", {
    access: "admin",
    summary: "Show what consenting to a scope grants.",
    query: scopeCatalogQuery,
    reply: { description: "The compiled policy without its paths.", schema: scopeCatalog },
    errors: ["scope_not_found", "policy_version_not_found", "database_unavailable"],
    handle: async ({ params: { scope }, query: { version } }) =>
      jsonResponse(toCatalog((await findPolicy(deps, scope, version)).policy), 200),
  });
}

async function findPolicy({ policies }: Deps, scope: string, version: number | undefined): Promise<PolicyIndex> {
  const latest = await policies.latest(scope);
  if (latest === undefined) throw new ApiError("scope_not_found", "Nothing is compiled for this scope.");
  const policy = await policies.pinned(scope, version ?? latest.version);
  if (policy === undefined) throw new ApiError("policy_version_not_found", "The scope has no policy of this version.");
  return policy;
}
