import { explanationRead } from "@svc/core";
import type { z } from "zod";
import { type Explained, explainAction } from "../commands/record/explain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

export function explanationRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/v1/audit/actions/{action_id}/explanation",
      access: "audit",
      tag: "Audit",
      summary: "Explain a decision: every check with what it looked at, and what would admit the call.",
      replies: { 200: { description: "The checks in their order, as they were recorded.", schema: explanationRead } },
      errors: ["action_not_found", "database_unavailable"],
    },
    async ({ c, params: { action_id: actionId } }) => {
      const explained = await explainAction(deps, actionId);
      if (explained === undefined) throw new ApiError("action_not_found", "There is no such action.");
      return c.json(toExplanation(explained));
    },
  );
}

const toExplanation = ({ record, explanation: { checks, remedy } }: Explained): z.input<typeof explanationRead> => ({
  action_id: record.actionId,
  decision: record.decision,
  deny_reason: record.denyReason,
  checks,
  remedy,
});
