import type { ConsoleReads, Listed, Query } from "@svc/console";
import {
  agentsQuery,
  decisionsQuery,
  fromWire,
  namedScopeQuery,
  pagedQuery,
  sessionsQuery,
  wouldBlockQuery,
} from "@svc/core";
import type { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { failingProbes } from "../commands/readiness.ts";
import { explainAction } from "../commands/record/explain.ts";
import { readChain } from "../commands/record/read-chain.ts";
import { openPage, type Paging, toPage } from "../http/page.ts";
import { decodeQuery } from "../http/query.ts";
import type { ListRequest } from "../http/routes.ts";
import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import { readDecisions, readWouldBlocks, wouldBlockPosition } from "./audit.ts";
import type { Deps } from "./deps.ts";
import { readSessions } from "./sessions.ts";

const versionsShown = 10;

/** The console's reads over the ports of the audit routes. */
export function consoleReads(deps: Deps): ConsoleReads {
  const list = async <Schema extends z.ZodObject, Row>(
    path: string,
    sent: Query,
    schema: Schema,
    read: (request: ListRequest<Schema>) => Promise<readonly Row[]>,
    positionOf: (row: Row) => string,
    pageSize?: number,
  ): Promise<Listed<Row>> => {
    const decoded = decodeQuery(sent, schema);
    const paging = decoded as unknown as Paging;
    const request = openPage(deps.cursorKey, path, sent, { ...paging, ...(pageSize && { limit: pageSize }) });
    const query = fromWire(schema, decoded);
    const rows = await read({ query, after: request.after, limit: request.limit + 1 });
    const { data, page } = toPage(deps.cursorKey, request, rows, (row) => row, positionOf);
    return { rows: data, next: rows[request.limit], nextCursor: page.nextCursor };
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
    decisions: (query) =>
      list(
        "/console/decisions",
        query,
        decisionsQuery,
        (request) => readDecisions(deps, request),
        ({ seq }) => String(seq),
      ),
    countDecisions: (count) => deps.decisionCounts.count(count),
    observedByScope: (newest) => deps.decisionCounts.observedByScope(newest),
    wouldBlocks: (query) =>
      list(
        "/console/would-block",
        query,
        wouldBlockQuery,
        (request) => readWouldBlocks(deps, request),
        wouldBlockPosition,
      ),
    async action(actionId) {
      const [explained, read] = await Promise.all([explainAction(deps, actionId), readChain(deps, actionId)]);
      return explained && read && { ...explained, ...read };
    },
    sessions: (query) =>
      list(
        "/console/sessions",
        query,
        sessionsQuery,
        (request) => readSessions(deps, request),
        ({ facts }) => facts.sessionId,
      ),
    session: async (id) => (isUuid(id) ? deps.sessions.read(id, deps.clock.nowMs()) : undefined),
    agents: (query) =>
      list(
        "/console/agents",
        query,
        agentsQuery,
        ({ query: { status }, after: afterName, limit }) => deps.manifests.listAgents({ status, afterName, limit }),
        ({ name }) => name,
      ),
    agent: (name) => deps.identities.byName(name),
    manifestVersions: ({ agentId }, query) =>
      list(
        `/console/agents/${agentId}`,
        query,
        pagedQuery,
        ({ after, limit }) =>
          deps.declarations.versions({ agentId, before: after === undefined ? undefined : Number(after), limit }),
        (row) => String(row.version),
        versionsShown,
      ),
    acceptedManifests: (agents) => deps.declarations.accepted(agents),
    scopes: (query) =>
      list(
        "/console/scopes",
        query,
        pagedQuery,
        ({ after, limit }) => deps.declarations.scopes({ after, limit }),
        ({ scope }) => scope,
      ),
    async policy(query) {
      const { name, version: asked } = decodeQuery(query, namedScopeQuery);
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
        pagedQuery,
        ({ after, limit }) => revocations("agent_revoked", after, limit),
        ({ eventId }) => eventId,
      ),
    revokedSessions: (limit) => revocations("session_revoked", undefined, limit),
    failingChecks: () => failingProbes(deps.probes),
  };
}
