import {
  type CheckFacts,
  type CheckName,
  denyReasons,
  type ExplainedCheck,
  identityStatuses,
  outcomes,
  taints,
  targetKinds,
} from "@svc/core";
import { z } from "zod";
import { type Explained, explainAction } from "../commands/record/explain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

const names = z.array(z.string()).readonly();
const block = z.object({ kind: z.enum(["tool", "agent", "scope"]), ref: z.string() });

/** What each check looked at, as it was recorded; the words are those of the core. */
const facts = {
  session: z.object({ expired: z.boolean(), revoked: z.boolean() }),
  revocation: z.object({ agents: names, revoked: names }),
  identity: z.object({ required: z.boolean(), statuses: z.record(z.string(), z.enum(identityStatuses)) }),
  block: z.object({ blocks: z.array(block).readonly() }),
  path: z.object({ chain: names }),
  hop_budget: z.object({ hop: z.int(), budget: z.int() }),
  target: z.object({
    caller: z.string().nullable(),
    target: z.string(),
    kind: z.enum(targetKinds),
    declared: z.boolean(),
    scopes: names.meta({ description: "Whose consent would have admitted the call." }),
  }),
  data_class: z.object({ asked: names, declared: names }),
  narrowing: z.object({ asked: names, within: names.nullable() }),
  taint: z.object({ taint: z.enum(taints), source: z.string().nullable(), accepted: z.boolean().nullable() }),
} satisfies { readonly [Name in CheckName]: z.ZodType<CheckFacts[Name]> };

const check = <Name extends CheckName>(name: Name) =>
  z.object({ check: z.literal(name), passed: z.boolean(), facts: facts[name] });

const explainedCheck: z.ZodType<ExplainedCheck> = z
  .discriminatedUnion("check", [
    check("session"),
    check("revocation"),
    check("identity"),
    check("block"),
    check("path"),
    check("hop_budget"),
    check("target"),
    check("data_class"),
    check("narrowing"),
    check("taint"),
  ])
  .meta({ id: "ExplainedCheck" });

const explanation = z
  .object({
    action_id: z.string(),
    decision: z.enum(outcomes),
    deny_reason: z.enum(denyReasons).nullable(),
    checks: z.array(explainedCheck).readonly(),
    remedy: z.string().nullable(),
  })
  .meta({ id: "Explanation" });

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
      replies: { 200: { description: "The checks in their order, as they were recorded.", schema: explanation } },
      errors: ["action_not_found", "database_unavailable"],
    },
    async ({ c, params: { action_id: actionId } }) => {
      const explained = await explainAction(deps, actionId);
      if (explained === undefined) throw new ApiError("action_not_found", "There is no such action.");
      return c.json(toExplanation(explained));
    },
  );
}

const toExplanation = ({ record, explanation: { checks, remedy } }: Explained): z.input<typeof explanation> => ({
  action_id: record.actionId,
  decision: record.decision,
  deny_reason: record.denyReason,
  checks,
  remedy,
});
