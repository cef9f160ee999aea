import {
  auditEventPage,
  chainRead,
  type DecisionRecord,
  decisionPage,
  decisionsQuery,
  eventsQuery,
  explanationRead,
  formerDecisionsQuery,
  wouldBlockPage,
  wouldBlockQuery,
} from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { explainAction } from "../commands/record/explain.ts";
import { readChain } from "../commands/record/read-chain.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { type ListRequest, routesOf } from "../http/routes.ts";
import { iso, withTimes } from "../http/times.ts";
import type { DecisionRow, WouldBlock, WouldBlockPosition } from "../ports/decision-log.ts";
import type { Deps } from "./deps.ts";

export function auditRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Audit");
  const history = {
    access: "audit",
    page: decisionPage,
    description: "One page, newest first.",
    item: ({ record, spentAtMs, paramsHash }: DecisionRow) => ({
      ...toHop(record),
      spentAt: spentAtMs === null ? null : iso(spentAtMs),
      paramsHash,
    }),
    position: ({ seq }: DecisionRow) => String(seq),
  } as const;

  list("GET /v1/audit/decisions", {
    ...history,
    summary: "Read the history of decisions.",
    query: decisionsQuery,
    rows: (request) => readDecisions(deps, request),
  });

  list("GET /v1/decisions", {
    ...history,
    summary: "The same with fewer filters, for observe-mode tooling; superseded by /v1/audit/decisions.",
    deprecated: true,
    query: formerDecisionsQuery,
    headers: {
      "Cache-Control": "no-store",
      Deprecation: deprecatedSince,
      Link: '</v1/audit/decisions>; rel="successor-version"',
    },
    rows: (request) => readDecisions(deps, request),
  });

  route("GET /v1/audit/actions/{action_id}/chain", {
    access: "audit",
    summary: "Read an action's delegation chain back to the consenting human.",
    reply: { description: "The chain, or what was reached of it.", schema: chainRead },
    errors: ["action_not_found", "database_unavailable"],
    handle: async ({ params: { actionId } }) => {
      const startedMs = deps.clock.nowMs();
      const read = await readChain(deps, actionId);
      const result = read === undefined ? "not_found" : read.chain.break === null ? "complete" : "broken";
      deps.events.chainRead(result, Math.max(0, deps.clock.nowMs() - startedMs) / 1000);
      if (read === undefined) throw actionNotFound();
      const { session, chain } = read;
      const complete = chain.break === null;
      return { root: withTimes(session), hops: chain.hops.map(toHop), complete, break: chain.break };
    },
  });

  route("GET /v1/audit/actions/{action_id}/explanation", {
    access: "audit",
    summary: "Explain a decision: every check with what it looked at, and what would admit the call.",
    reply: { description: "The checks in their order, as they were recorded.", schema: explanationRead },
    errors: ["action_not_found", "database_unavailable"],
    handle: async ({ params: { actionId } }) => {
      const explained = await explainAction(deps, actionId);
      if (explained === undefined) throw actionNotFound();
      return { ...explained.record, ...explained.explanation };
    },
  });

  list("GET /v1/audit/events", {
    access: "audit",
    summary: "Read the acts beside the decisions: consents, manifests, renewals, revocations, blocks, keys.",
    query: eventsQuery,
    page: auditEventPage,
    description: "One page, newest first.",
    rows: async ({ query: { kind, sessionId, agent, since: sinceMs, until: untilMs }, after: beforeId, limit }) => {
      // No session has an id of another form.
      if (sessionId !== undefined && !isUuid(sessionId)) return [];
      return deps.administrativeEvents.page({ kind, sessionId, agent, sinceMs, untilMs, beforeId, limit });
    },
    item: ({ atMs, ...event }) => ({ ...event, ts: iso(atMs) }),
    position: ({ eventId }) => eventId,
  });

  list("GET /v1/audit/would-block", {
    access: "audit",
    summary: "List what observe mode let pass and enforcement would have blocked, like calls together.",
    query: wouldBlockQuery,
    page: wouldBlockPage,
    description: "One page, in the order of agent and target.",
    rows: (request) => readWouldBlocks(deps, request),
    item: ({ actingAgent, firstMs, lastMs, ...group }) => ({
      ...group,
      agent: actingAgent,
      firstTs: iso(firstMs),
      lastTs: iso(lastMs),
    }),
    position: wouldBlockPosition,
  });
}

/** RFC 9745 section 2.1: the first release already had the successor. */
const deprecatedSince = `@${Date.UTC(2026, 0, 1) / 1000}`;

const actionNotFound = (): ApiError => new ApiError("action_not_found", "There is no such action.");

const toHop = (record: DecisionRecord) => ({ ...record, ts: iso(record.decidedAtMs) });

interface DecisionsRequest extends Pick<ListRequest<typeof decisionsQuery>, "after" | "limit"> {
  readonly query: Partial<ListRequest<typeof decisionsQuery>["query"]>;
}

export async function readDecisions(
  { decisions }: Pick<Deps, "decisions">,
  { query, after, limit }: DecisionsRequest,
): Promise<readonly DecisionRow[]> {
  const { limit: _limit, cursor: _cursor, since: sinceMs, until: untilMs, ...filter } = query;
  // No session has an id of another form.
  if (filter.sessionId !== undefined && !isUuid(filter.sessionId)) return [];
  const beforeSeq = after === undefined ? undefined : BigInt(after);
  return decisions.page({ filter: { ...filter, sinceMs, untilMs }, beforeSeq, limit });
}

export const wouldBlockPosition = ({ position }: WouldBlock): string => JSON.stringify(position);

export const readWouldBlocks = (
  { wouldBlocks }: Pick<Deps, "wouldBlocks">,
  { query: { scope, since: sinceMs, until: untilMs }, after, limit }: ListRequest<typeof wouldBlockQuery>,
): Promise<readonly WouldBlock[]> =>
  wouldBlocks.page({
    ...{ scope, sinceMs, untilMs, limit },
    after: after === undefined ? undefined : (JSON.parse(after) as WouldBlockPosition),
  });
