import { explanationRead } from "@svc/core";
import { explainAction } from "../commands/record/explain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { route } from "../http/route.ts";
import type { Deps } from "./deps.ts";

export function explanationRoute(app: App, deps: Deps): void {
  route(app, deps, "GET /v1/audit/actions/{action_id}/explanation", {
    access: "audit",
    tag: "Audit",
    summary: "Explain a decision: every check with what it looked at, and what would admit the call.",
    reply: { description: "The checks in their order, as they were recorded.", schema: explanationRead },
    errors: ["action_not_found", "database_unavailable"],
    handle: async ({ params: { actionId } }) => {
      const explained = await explainAction(deps, actionId);
      if (explained === undefined) throw new ApiError("action_not_found", "There is no such action.");
      return { ...explained.record, ...explained.explanation };
    },
  });
}
