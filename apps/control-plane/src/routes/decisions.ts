import { decisionPage, decisionsQuery, formerDecisionsQuery } from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import type { App } from "../http/endpoint.ts";
import { type ListRequest, list } from "../http/list.ts";
import type { DecisionFilter, DecisionRow } from "../ports/decision-log.ts";
import { toDecisionRow } from "./decision-row.ts";
import type { Deps } from "./deps.ts";

export function decisionRoutes(app: App, deps: Deps): void {
  const history = {
    access: "audit",
    tag: "Audit",
    page: decisionPage,
    description: "One page, newest first.",
    errors: ["database_unavailable"],
    item: toDecisionRow,
    position: ({ seq }: DecisionRow) => String(seq),
  } as const;

  list(app, deps, "GET /v1/audit/decisions", {
    ...history,
    summary: "Read the history of decisions.",
    query: decisionsQuery,
    rows: (request) => readDecisions(deps, request),
  });

  list(app, deps, "GET /v1/decisions", {
    ...history,
    summary: "The same with fewer filters, for observe-mode tooling; superseded by /v1/audit/decisions.",
    deprecated: true,
    query: formerDecisionsQuery,
    headers: {
      "Cache-Control": "no-store",
      Deprecation: deprecatedSince,
      Link: '</v1/audit/decisions>; rel="successor-version"',
    },
    rows: ({ query: { limit: _limit, cursor: _cursor, ...filter }, after, limit }) =>
      readHistory(deps, filter, after, limit),
  });
}

/** RFC 9745 section 2.1: the first release already had the successor. */
const deprecatedSince = `@${Date.UTC(2026, 0, 1) / 1000}`;

export const readDecisions = (
  deps: Pick<Deps, "decisions">,
  { query, after, limit }: ListRequest<typeof decisionsQuery>,
): Promise<readonly DecisionRow[]> => {
  const { limit: _limit, cursor: _cursor, since: sinceMs, until: untilMs, ...filter } = query;
  return readHistory(deps, { ...filter, sinceMs, untilMs }, after, limit);
};

async function readHistory(
  { decisions }: Pick<Deps, "decisions">,
  filter: DecisionFilter,
  after: string | undefined,
  limit: number,
): Promise<readonly DecisionRow[]> {
  // No session has an id of another form.
  if (filter.sessionId !== undefined && !isUuid(filter.sessionId)) return [];
  return decisions.page({ filter, beforeSeq: after === undefined ? undefined : BigInt(after), limit });
}
