import { type PolicyIndex, toCatalog } from "@svc/core";
import { z } from "zod";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { versionQuery } from "../http/query-values.ts";
import type { Deps } from "./deps.ts";

const scopeCatalog = z
  .object({
    scope: z.string(),
    version: z.int(),
    tools: z.array(z.object({ ref: z.string(), data_classes: z.array(z.string()), privileged: z.boolean() })),
    data_classes: z.object({ reads: z.array(z.string()), writes: z.array(z.string()) }),
    downstream_agents: z.array(z.string()),
    hop_budget: z.int(),
  })
  .meta({ id: "ScopeCatalog" });

export function scopeRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/scopes/{scope}/catalog",
      access: "admin",
      tag: "Scopes",
      summary: "Show what consenting to a scope grants.",
      query: z.strictObject({ version: versionQuery }),
      replies: { 200: { description: "The compiled policy without its paths.", schema: scopeCatalog } },
      errors: ["scope_not_found", "policy_version_not_found", "database_unavailable"],
    },
    async ({ c, params: { scope }, query: { version } }) => {
      const { policy } = await findPolicy(deps, scope, version);
      return c.json(toCatalog(policy));
    },
  );
}

async function findPolicy({ policies }: Deps, scope: string, version: number | undefined): Promise<PolicyIndex> {
  const latest = await policies.latest(scope);
  if (latest === undefined) throw new ApiError("scope_not_found", "Nothing is compiled for this scope.");
  const policy = await policies.pinned(scope, version ?? latest.version);
  if (policy === undefined) throw new ApiError("policy_version_not_found", "The scope has no policy of this version.");
  return policy;
}
