import { decisionPage, decisionsQuery, formerDecisionsQuery } from "@svc/core";
import type { Context } from "hono";
import type { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, type PageRequest, toPage } from "../http/page.ts";
import type { DecisionFilter, DecisionRow } from "../ports/decision-log.ts";
import { toDecisionRow } from "./decision-row.ts";
import type { Deps } from "./deps.ts";

const tag = "Audit";
const history = "/v1/audit/decisions";
const formerHistory = "/v1/decisions";

const replies = {
  200: { description: "One page, newest first.", schema: decisionPage },
};

export function decisionRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: history,
      access: "audit",
      tag,
      summary: "Read the history of decisions.",
      query: decisionsQuery,
      replies,
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) =>
      answer(c, deps, openPage(deps.cursorKey, history, rawQuery, query), toDecisionFilter(query)),
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: formerHistory,
      access: "audit",
      tag,
      summary: "The same with fewer filters, for observe-mode tooling; superseded by /v1/audit/decisions.",
      deprecated: true,
      query: formerDecisionsQuery,
      replies,
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      c.header("Deprecation", deprecatedSince);
      c.header("Link", `<${history}>; rel="successor-version"`);
      const { session_id: sessionId, outcome, deny_reason: denyReason, enforced } = query;
      const asked = openPage(deps.cursorKey, formerHistory, rawQuery, query);
      return answer(c, deps, asked, { sessionId, outcome, denyReason, enforced });
    },
  );
}

/** RFC 9745 section 2.1: the first release already had the successor. */
const deprecatedSince = `@${Date.UTC(2026, 0, 1) / 1000}`;

export const toDecisionFilter = (query: z.output<typeof decisionsQuery>): DecisionFilter => ({
  sessionId: query.session_id,
  agent: query.agent,
  outcome: query.outcome,
  denyReason: query.deny_reason,
  enforced: query.enforced,
  targetKind: query.target_kind,
  sinceMs: query.since,
  untilMs: query.until,
  taint: query.taint,
  privileged: query.privileged,
});

/** Read one beyond the limit, so that a surplus row says that there is a next page. */
export async function readHistory(
  { decisions }: Pick<Deps, "decisions">,
  { after, limit }: PageRequest,
  filter: DecisionFilter,
): Promise<readonly DecisionRow[]> {
  // What is no identifier of ours is nobody's session.
  if (filter.sessionId !== undefined && !isUuid(filter.sessionId)) return [];
  const beforeSeq = after === undefined ? undefined : BigInt(after);
  return decisions.page({ filter, beforeSeq, limit: limit + 1 });
}

async function answer(c: Context, deps: Deps, asked: PageRequest, filter: DecisionFilter): Promise<Response> {
  const rows = await readHistory(deps, asked, filter);
  return c.json(toPage(deps.cursorKey, asked, rows, toDecisionRow, ({ seq }) => String(seq)));
}
