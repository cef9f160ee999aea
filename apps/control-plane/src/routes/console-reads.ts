import type { ConsoleReads, Listed, Query } from "@svc/console";
import { agentsQuery, decisionsQuery, pagedQuery, scopeName, sessionsQuery, version, wouldBlockQuery } from "@svc/core";
import { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { failingProbes } from "../commands/readiness.ts";
import { explainAction } from "../commands/record/explain.ts";
import { readChain } from "../commands/record/read-chain.ts";
import { openPage, type PageRequest, toPage } from "../http/page.ts";
import { decodeQuery } from "../http/query.ts";
import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import { readHistory, toDecisionFilter } from "./decisions.ts";
import type { Deps } from "./deps.ts";
import { toSessionFilter } from "./sessions.ts";
import { groupPosition, readGroups } from "./would-block.ts";

/** `name` in the query, since a scope may be named `..`, which no path can hold. */
const scopeQuery = z.strictObject({ name: scopeName, version });
const versionsShown = 10;

/** The console's reads over the ports of the audit routes. */
export function consoleReads(deps: Deps): ConsoleReads {
  /** @param read reads one row beyond the limit: it begins the next page */
  const list = async <Row>(
    path: string,
    query: Query,
    paging: { readonly limit: number; readonly cursor?: string | undefined },
    read: (request: PageRequest) => Promise<readonly Row[]>,
    positionOf: (row: Row) => string,
  ): Promise<Listed<Row>> => {
    const request = openPage(deps.cursorKey, path, query, paging);
    const rows = await read(request);
    const { data, page } = toPage(deps.cursorKey, request, rows, (row) => row, positionOf);
    return { rows: data, next: rows[request.limit], nextCursor: page.next_cursor };
  };
  const revocations = (
    kind: "agent_revoked" | "session_revoked",
    beforeId: string | undefined,
    limit: number,
  ): Promise<readonly AdministrativeEvent[]> => {
    const anyOther = { sessionId: undefined, agent: undefined, sinceMs: undefined, untilMs: undefined };
    return deps.administrativeEvents.page({ ...anyOther, kind, beforeId, limit });
  };
  return {
    decisions(query) {
      const asked = decodeQuery(query, decisionsQuery);
      return list(
        "/console/decisions",
        query,
        asked,
        (request) => readHistory(deps, request, toDecisionFilter(asked)),
        ({ seq }) => String(seq),
      );
    },
    countDecisions: (count) => deps.decisionCounts.count(count),
    observedByScope: (newest) => deps.decisionCounts.observedByScope(newest),
    wouldBlocks(query) {
      const { scope, since: sinceMs, until: untilMs, ...paging } = decodeQuery(query, wouldBlockQuery);
      const filter = { scope, sinceMs, untilMs };
      return list("/console/would-block", query, paging, (request) => readGroups(deps, request, filter), groupPosition);
    },
    async action(actionId) {
      const [explained, read] = await Promise.all([explainAction(deps, actionId), readChain(deps, actionId)]);
      return explained && read && { ...explained, ...read };
    },
    sessions(query) {
      const asked = decodeQuery(query, sessionsQuery);
      const fixed = { filter: toSessionFilter(asked), nowMs: deps.clock.nowMs() };
      return list(
        "/console/sessions",
        query,
        asked,
        ({ after: before, limit }) => deps.sessions.page({ ...fixed, before, limit: limit + 1 }),
        ({ facts }) => facts.sessionId,
      );
    },
    session: async (id) => (isUuid(id) ? deps.sessions.read(id, deps.clock.nowMs()) : undefined),
    agents(query) {
      const { status, ...paging } = decodeQuery(query, agentsQuery);
      return list(
        "/console/agents",
        query,
        paging,
        ({ after: afterName, limit }) => deps.manifests.listAgents({ status, afterName, limit: limit + 1 }),
        ({ name }) => name,
      );
    },
    agent: (name) => deps.identities.byName(name),
    manifestVersions({ agentId }, query) {
      const paging = { ...decodeQuery(query, pagedQuery), limit: versionsShown };
      return list(
        `/console/agents/${agentId}`,
        query,
        paging,
        ({ after, limit }) =>
          deps.declarations.versions({
            agentId,
            before: after === undefined ? undefined : Number(after),
            limit: limit + 1,
          }),
        (row) => String(row.version),
      );
    },
    acceptedManifests: (agents) => deps.declarations.accepted(agents),
    scopes: (query) =>
      list(
        "/console/scopes",
        query,
        decodeQuery(query, pagedQuery),
        ({ after, limit }) => deps.declarations.scopes({ after, limit: limit + 1 }),
        ({ scope }) => scope,
      ),
    async policy(query) {
      const { name, version: asked } = decodeQuery(query, scopeQuery);
      const latest = await deps.policies.latest(name);
      if (latest === undefined) return undefined;
      const pinned = await deps.policies.pinned(name, asked ?? latest.version);
      return {
        scope: name,
        latestVersion: latest.version,
        version: asked ?? latest.version,
        document: pinned?.policy.document,
      };
    },
    blocks: (limit) => deps.blocks.page({ nowMs: deps.clock.nowMs(), after: undefined, limit }),
    revokedAgents: (query) =>
      list(
        "/console/denials",
        query,
        decodeQuery(query, pagedQuery),
        ({ after, limit }) => revocations("agent_revoked", after, limit + 1),
        ({ eventId }) => eventId,
      ),
    revokedSessions: (limit) => revocations("session_revoked", undefined, limit),
    failingChecks: () => failingProbes(deps.probes),
  };
}
