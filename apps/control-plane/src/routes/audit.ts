import {
  type AdministrativeEvent,
  agentVerdicts,
  auditEventPage,
  chainRead,
  type DecisionRecord,
  decisionPage,
  decisionsQuery,
  eventsQuery,
  explanationRead,
  formerDecisionsQuery,
  verdictsQuery,
  wouldBlockPage,
  wouldBlockQuery,
} from "@svc/core";
import { agentVerdicts as foreseeVerdicts } from "../commands/hop/agent-verdicts.ts";
import { isUuid } from "../commands/identifier.ts";
import { explainAction, readChain } from "../commands/record.ts";
import { judgeNow } from "../commands/would-block.ts";
import { ApiError } from "../http/api-error.ts";
import type { FoundRows } from "../http/page.ts";
import { type App, type ListRequest, routesOf } from "../http/routes.ts";
import { iso, withTimes } from "../http/times.ts";
import { consentUrlOfRecord } from "../people/consent-link.ts";
import type { DecisionRow, WouldBlockPosition, WouldBlockRow } from "../ports/audit-reads.ts";
import { agentNotFound } from "./agents.ts";
import type { Deps } from "./deps.ts";

export function auditRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Audit");
  const history = {
    ...decisionReads(deps),
    access: "audit",
    page: decisionPage,
    description: "One page, newest first.",
    item: ({ record, spentAtMs, paramsHash }: DecisionRow) => ({
      ...toHop(record),
      spentAt: spentAtMs === null ? null : iso(spentAtMs),
      paramsHash,
    }),
  } as const;

  list("GET /v1/audit/decisions", {
    ...history,
    summary: "Read the history of decisions.",
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
  });

  route("GET /v1/audit/actions/{action_id}/chain", {
    access: "audit",
    summary: "Read an action's delegation chain back to the consenting human.",
    reply: { description: "The chain, or what was reached of it.", schema: chainRead },
    errors: ["action_not_found", "database_unavailable"],
    handle: async ({ params: { actionId } }) => {
      const startedMs = performance.now();
      const read = await readChain(deps, actionId);
      const result = read === undefined ? "not_found" : read.chain.break === null ? "complete" : "broken";
      deps.events.chainRead(result, (performance.now() - startedMs) / 1000);
      if (read === undefined) throw actionNotFound();
      const { session, chain } = read;
      return {
        root: withTimes(session),
        hops: chain.hops.map(toHop),
        complete: result === "complete",
        break: chain.break,
      };
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
      const consentUrl = await consentUrlOfRecord(deps, explained);
      return { ...explained.record, ...explained.explanation, consentUrl };
    },
  });

  route("GET /v1/audit/verdicts", {
    access: "audit",
    summary: "Show what a decision on an agent's call would be now; it records, marks and spends nothing.",
    query: verdictsQuery,
    reply: { description: "One verdict for each scope and data class.", schema: agentVerdicts },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ query: { agent, target, dataClass, scope } }) => {
      if ((await deps.manifests.agentId(agent)) === undefined) throw agentNotFound();
      return { agent, target, verdicts: [...(await foreseeVerdicts(deps, { agent, target, dataClass, scope }))] };
    },
  });

  list("GET /v1/audit/events", {
    access: "audit",
    summary: "Read the acts beside the decisions: consents, manifests, renewals, revocations, blocks, keys.",
    ...eventReads(deps),
    page: auditEventPage,
    description: "One page, newest first.",
    item: ({ atMs, ...event }) => ({ ...event, ts: iso(atMs) }),
  });

  list("GET /v1/audit/would-block", {
    ...wouldBlockReads(deps),
    access: "audit",
    summary: "List what observe mode let pass and enforcement would have blocked, like calls together.",
    page: wouldBlockPage,
    description: "One page, in the order of agent and target.",
    item: ({ actingAgent, firstMs, lastMs, ...group }) => ({
      ...group,
      agent: actingAgent,
      firstTs: iso(firstMs),
      lastTs: iso(lastMs),
    }),
  });
}

/** RFC 9745 section 2.1: the first release already had the successor. */
const deprecatedSince = `@${Date.UTC(2026, 0, 1) / 1000}`;

const actionNotFound = (): ApiError => new ApiError("action_not_found", "There is no such action.");

const toHop = (record: DecisionRecord) => ({ ...record, ts: iso(record.decidedAtMs) });

interface DecisionsRequest extends Omit<ListRequest<typeof decisionsQuery>, "query"> {
  readonly query: Partial<ListRequest<typeof decisionsQuery>["query"]>;
}

export const decisionReads = ({ audit }: Deps) => ({
  query: decisionsQuery,
  async rows({ query, after, limit }: DecisionsRequest): Promise<FoundRows<DecisionRow>> {
    const { limit: _limit, cursor: _cursor, since: sinceMs, until: untilMs, order, ...filter } = query;
    // No session has an id of another form.
    if (filter.sessionId !== undefined && !isUuid(filter.sessionId)) return [];
    const afterSeq = after === undefined ? undefined : BigInt(after);
    const read = { filter: { ...filter, sinceMs, untilMs }, order, after: afterSeq, limit };
    const { rows, readTo } = await audit.decisions(read);
    return readTo === undefined ? rows : { rows, readTo: String(readTo) };
  },
  position: ({ seq }: DecisionRow) => String(seq),
});

export const eventReads = ({ audit }: Deps) => ({
  query: eventsQuery,
  async rows({ query, after, limit }: ListRequest<typeof eventsQuery>): Promise<readonly AdministrativeEvent[]> {
    const { limit: _limit, cursor: _cursor, since: sinceMs, until: untilMs, ...filter } = query;
    // No session has an id of another form.
    if (filter.sessionId !== undefined && !isUuid(filter.sessionId)) return [];
    return audit.events({ ...filter, sinceMs, untilMs, after, limit });
  },
  position: ({ eventId }: AdministrativeEvent) => eventId,
});

export const wouldBlockReads = (deps: Deps) => ({
  query: wouldBlockQuery,
  async rows({ query, after, limit }: ListRequest<typeof wouldBlockQuery>) {
    const asked = { scope: query.scope, sinceMs: query.since, untilMs: query.until };
    const position = after === undefined ? undefined : (JSON.parse(after) as WouldBlockPosition);
    return judgeNow(deps, asked, await deps.audit.wouldBlocks({ ...asked, limit, after: position }));
  },
  position: ({ position }: WouldBlockRow) => JSON.stringify(position),
});
