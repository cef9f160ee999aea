import * as core from "@svc/core";
import {
  type BodyOf,
  type CallOptions,
  everyRow,
  type Page,
  type PageQuery,
  type Plane,
  type RequestBody,
  segment,
} from "./plane.ts";

/** The delegation chain of an action back to the consenting human; `break` names the hop where it ends early. */
export type ChainRead = BodyOf<typeof core.chainRead>;
/** One recorded hop of a delegation chain. */
export type ChainHop = BodyOf<typeof core.chainHop>;
/** One recorded decision. */
export type DecisionRow = BodyOf<typeof core.decisionRow>;
/** Every check of a decision with its facts, and what would admit the call. */
export type ExplanationRead = BodyOf<typeof core.explanationRead>;
/** An event of the record that is no decision. */
export type AuditEvent = BodyOf<typeof core.auditEvent>;
/** Like calls that observe mode let pass and enforcement would have blocked. */
export type WouldBlock = BodyOf<typeof core.wouldBlockGroup>;
/** What a decision on an agent's call would be now, in each scope and for each data class. */
export type AgentVerdicts = BodyOf<typeof core.agentVerdicts>;
/** A scope by its newest policy. */
export type ScopeRead = BodyOf<typeof core.scopeRead>;
/** A session without its tokens. */
export type SessionSummary = BodyOf<typeof core.sessionSummary>;
/** A person's sign-in at the pages of the control plane. */
export type SignInRead = BodyOf<typeof core.signInRead>;
/** How far a sink has the record, and why it fails. */
export type SinkRead = BodyOf<typeof core.sinkRead>;
/** A session with its taint marks; an `agent` of null is the human. */
export type SessionRead = BodyOf<typeof core.sessionRead>;
/** An emergency block; `until` is null for one that must be lifted. */
export type BlockRead = BodyOf<typeof core.blockRead>;

/**
 * Filters of the decision history; all of them must hold. `agent` is the acting agent; `enforced: false` selects the
 * decisions of observe mode; `since` is inclusive, `until` exclusive.
 */
export type DecisionFilters = Omit<RequestBody<typeof core.decisionsQuery>, keyof PageQuery>;

/** Which recorded decisions to decide again under a candidate manifest of `agent`. All filters must hold. */
export interface ReplayRequest extends Omit<RequestBody<typeof core.replayRequest>, "agent" | "manifest"> {
  readonly agent: string;
  readonly manifest: core.AgentManifestDocument;
}
/** Like decisions whose outcome a candidate manifest changes. */
export type ReplayChange = BodyOf<typeof core.replayChange>;
/** What a candidate manifest would change, of one piece of the log; `nextCursor` leads to the next older one. */
export type ReplayPage = BodyOf<typeof core.replayPage>;

/** The record (docs/reference/routes.md#planes-and-bearers), under the audit reader's bearer, else the admin's. */
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
  events(query?: RequestBody<typeof core.eventsQuery>, options?: CallOptions): Promise<Page<AuditEvent>>;
  /** `GET /v1/audit/would-block`: one page, in the order of agent and target. */
  wouldBlock(query?: RequestBody<typeof core.wouldBlockQuery>, options?: CallOptions): Promise<Page<WouldBlock>>;
  /** `GET /v1/audit/verdicts`: nothing is recorded. */
  verdicts(query: RequestBody<typeof core.verdictsQuery>, options?: CallOptions): Promise<AgentVerdicts>;
  /** `GET /v1/scopes`: by name. */
  scopes(query?: RequestBody<typeof core.scopesQuery>, options?: CallOptions): Promise<Page<ScopeRead>>;
  /** `POST /v1/audit/replay`: the newest piece of the log, or the one that `cursor` names; nothing is stored. */
  replay(request: ReplayRequest, options?: CallOptions): Promise<ReplayPage>;
  /** `GET /v1/sessions`: one page, newest first. */
  sessions(query?: RequestBody<typeof core.sessionsQuery>, options?: CallOptions): Promise<Page<SessionSummary>>;
  /** `GET /v1/sessions/{session_id}`. */
  session(sessionId: string, options?: CallOptions): Promise<SessionRead>;
  /** `GET /v1/sign-ins`: one page of people's sign-ins, newest first. */
  signIns(query?: RequestBody<typeof core.signInsQuery>, options?: CallOptions): Promise<Page<SignInRead>>;
  /** `GET /v1/sinks`: where the record is delivered, by name. */
  sinks(query?: PageQuery, options?: CallOptions): Promise<Page<SinkRead>>;
  /** `GET /v1/blocks`: those in force, by kind and ref. */
  blocks(query?: PageQuery, options?: CallOptions): Promise<Page<BlockRead>>;
}

export function auditPlane({ get, post }: Plane): AuditPlane {
  const decisions: AuditPlane["decisions"] = (query, options) =>
    get("/v1/audit/decisions", core.decisionPage, options, query);
  return {
    chain: async (actionId, options) => get(`/v1/audit/actions/${segment(actionId)}/chain`, core.chainRead, options),
    explanation: async (actionId, options) =>
      get(`/v1/audit/actions/${segment(actionId)}/explanation`, core.explanationRead, options),
    decisions,
    allDecisions: (query, options) => everyRow((cursor) => decisions({ ...query, cursor }, options)),
    events: (query, options) => get("/v1/audit/events", core.auditEventPage, options, query),
    wouldBlock: (query, options) => get("/v1/audit/would-block", core.wouldBlockPage, options, query),
    verdicts: async (query, options) => get("/v1/audit/verdicts", core.agentVerdicts, options, query),
    scopes: (query, options) => get("/v1/scopes", core.scopePage, options, query),
    replay: (request, options) => post("/v1/audit/replay", core.replayPage, options, request),
    sessions: (query, options) => get("/v1/sessions", core.sessionPage, options, query),
    session: async (sessionId, options) => get(`/v1/sessions/${segment(sessionId)}`, core.sessionRead, options),
    signIns: (query, options) => get("/v1/sign-ins", core.signInPage, options, query),
    sinks: (query, options) => get("/v1/sinks", core.sinkPage, options, query),
    blocks: (query, options) => get("/v1/blocks", core.blockPage, options, query),
  };
}
