import type { DenyReason, Outcome, Taint, TargetKind } from "@svc/core";
import { type ChainRead, chainRead, type DecisionRow, decisionRow } from "./audit-bodies.ts";
import { type Page, type PageQuery, pageOf } from "./pages.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/** Filters of the decision history; all of them must hold. */
export interface DecisionFilters {
  readonly sessionId?: string | undefined;
  /** The acting agent. */
  readonly agent?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly denyReason?: DenyReason | undefined;
  /** False selects the decisions of observe mode. */
  readonly enforced?: boolean | undefined;
  readonly targetKind?: TargetKind | undefined;
  /** Inclusive; text is ISO 8601 with an offset. */
  readonly since?: string | Date | undefined;
  /** Exclusive. */
  readonly until?: string | Date | undefined;
  readonly taint?: Taint | undefined;
  readonly privileged?: boolean | undefined;
}

/** Reads what was decided (specification: Endpoints), under the audit reader's bearer, else the admin's. */
export interface AuditPlane {
  /** `GET /v1/audit/actions/{action_id}/chain`. */
  chain(actionId: string, options?: CallOptions): Promise<ChainRead>;
  /** `GET /v1/audit/decisions`: one page, newest first. */
  decisions(query?: DecisionFilters & PageQuery, options?: CallOptions): Promise<Page<DecisionRow>>;
  /** Every decision that matches, newest first, read page by page (`limit` rows each) as the loop goes on. */
  allDecisions(
    query?: DecisionFilters & Pick<PageQuery, "limit">,
    options?: CallOptions,
  ): AsyncGenerator<DecisionRow, void, undefined>;
}

export function auditPlane(plane: Plane): AuditPlane {
  const decisions: AuditPlane["decisions"] = (query = {}, options) =>
    plane.ask({ method: "GET", path: "/v1/audit/decisions", query: wireQuery(query) }, pageOf(decisionRow), options);
  return {
    chain: async (actionId, options) =>
      plane.ask({ method: "GET", path: `/v1/audit/actions/${segment(actionId)}/chain` }, chainRead, options),
    decisions,
    async *allDecisions(query = {}, options) {
      let cursor: string | undefined;
      do {
        const { data, page }: Page<DecisionRow> = await decisions({ ...query, cursor }, options);
        yield* data;
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    },
  };
}

const wireQuery = (query: DecisionFilters & PageQuery) => ({
  limit: query.limit,
  cursor: query.cursor,
  session_id: query.sessionId,
  agent: query.agent,
  outcome: query.outcome,
  deny_reason: query.denyReason,
  enforced: query.enforced,
  target_kind: query.targetKind,
  since: query.since,
  until: query.until,
  taint: query.taint,
  privileged: query.privileged,
});
