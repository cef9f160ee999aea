import { auditEventPage, eventsQuery } from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import type { App } from "../http/endpoint.ts";
import { list } from "../http/list.ts";
import { iso } from "../http/times.ts";
import type { Deps } from "./deps.ts";

export function eventsRoute(app: App, deps: Deps): void {
  list(app, deps, "GET /v1/audit/events", {
    access: "audit",
    tag: "Audit",
    summary: "Read what was done beside the decisions: consents, manifests, renewals, revocations, blocks, keys.",
    query: eventsQuery,
    page: auditEventPage,
    description: "One page, newest first.",
    errors: ["database_unavailable"],
    rows: async ({ query: { kind, sessionId, agent, since: sinceMs, until: untilMs }, after: beforeId, limit }) => {
      // No session has an id of another form.
      if (sessionId !== undefined && !isUuid(sessionId)) return [];
      return deps.administrativeEvents.page({ kind, sessionId, agent, sinceMs, untilMs, beforeId, limit });
    },
    item: ({ atMs, ...event }) => ({ ...event, ts: iso(atMs) }),
    position: ({ eventId }) => eventId,
  });
}
