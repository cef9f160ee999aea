import {
  auditEventPage,
  blockPage,
  chainRead,
  decisionPage,
  type decisionsQuery,
  type eventsQuery,
  explanationRead,
  sessionPage,
  sessionRead,
  type sessionsQuery,
  wouldBlockPage,
  type wouldBlockQuery,
} from "@svc/core";
import type {
  AuditEvent,
  BlockRead,
  ChainRead,
  DecisionRow,
  ExplanationRead,
  RequestBody,
  SessionRead,
  SessionSummary,
  WouldBlock,
} from "./bodies.ts";
import { everyRow, type Page, type PageQuery } from "./pages.ts";
import { type CallOptions, type Plane, segment } from "./plane.ts";

/**
 * Filters of the decision history; all of them must hold. `agent` is the acting agent; `enforced: false` selects the
 * decisions of observe mode; `since` is inclusive, `until` exclusive.
 */
export type DecisionFilters = Omit<RequestBody<typeof decisionsQuery>, keyof PageQuery>;

/**
 * Reads the record (docs/reference/routes.md#planes-and-bearers), under the audit reader's bearer, else the admin's.
 */
export interface AuditPlane {
  /** `GET /v1/audit/actions/{action_id}/chain`. */
  chain(actionId: string, options?: CallOptions): Promise<ChainRead>;
  /** `GET /v1/audit/actions/{action_id}/explanation`. */
  explanation(actionId: string, options?: CallOptions): Promise<ExplanationRead>;
  /** `GET /v1/audit/decisions`: one page, newest first. */
  decisions(query?: DecisionFilters & PageQuery, options?: CallOptions): Promise<Page<DecisionRow>>;
  /** Every decision that matches, newest first; pages of `limit` rows are read as the loop needs them. */
  allDecisions(
    query?: DecisionFilters & Pick<PageQuery, "limit">,
    options?: CallOptions,
  ): AsyncGenerator<DecisionRow, void, undefined>;
  /** `GET /v1/audit/events`: what was done beside the decisions; one page, newest first. */
  events(query?: RequestBody<typeof eventsQuery>, options?: CallOptions): Promise<Page<AuditEvent>>;
  /** `GET /v1/audit/would-block`: one page, in the order of agent and target. */
  wouldBlock(query?: RequestBody<typeof wouldBlockQuery>, options?: CallOptions): Promise<Page<WouldBlock>>;
  /** `GET /v1/sessions`: one page, newest first. */
  sessions(query?: RequestBody<typeof sessionsQuery>, options?: CallOptions): Promise<Page<SessionSummary>>;
  /** `GET /v1/sessions/{session_id}`. */
  session(sessionId: string, options?: CallOptions): Promise<SessionRead>;
  /** `GET /v1/blocks`: those in force, by kind and ref. */
  blocks(query?: PageQuery, options?: CallOptions): Promise<Page<BlockRead>>;
}

export function auditPlane(plane: Plane): AuditPlane {
  const get = { method: "GET" } as const;
  const decisions: AuditPlane["decisions"] = async (query, options) =>
    plane.request({ ...get, path: "/v1/audit/decisions", query }, decisionPage, options);
  return {
    chain: async (actionId, options) =>
      plane.request({ ...get, path: `/v1/audit/actions/${segment(actionId)}/chain` }, chainRead, options),
    explanation: async (actionId, options) =>
      plane.request({ ...get, path: `/v1/audit/actions/${segment(actionId)}/explanation` }, explanationRead, options),
    decisions,
    allDecisions: (query, options) => everyRow((cursor) => decisions({ ...query, cursor }, options)),
    events: async (query, options) =>
      plane.request({ ...get, path: "/v1/audit/events", query }, auditEventPage, options),
    wouldBlock: async (query, options) =>
      plane.request({ ...get, path: "/v1/audit/would-block", query }, wouldBlockPage, options),
    sessions: async (query, options) => plane.request({ ...get, path: "/v1/sessions", query }, sessionPage, options),
    session: async (sessionId, options) =>
      plane.request({ ...get, path: `/v1/sessions/${segment(sessionId)}` }, sessionRead, options),
    blocks: async (query, options) => plane.request({ ...get, path: "/v1/blocks", query }, blockPage, options),
  };
}
