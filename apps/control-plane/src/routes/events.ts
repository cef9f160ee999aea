import { type auditEvent, auditEventPage, eventsQuery } from "@svc/core";
import type { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, toPage } from "../http/page.ts";
import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import type { Deps } from "./deps.ts";

const path = "/v1/audit/events";

export function eventsRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path,
      access: "audit",
      tag: "Audit",
      summary: "Read what was done beside the decisions: consents, manifests, renewals, revocations, blocks, keys.",
      query: eventsQuery,
      replies: {
        200: { description: "One page, newest first.", schema: auditEventPage },
      },
      errors: ["database_unavailable"],
    },
    async ({
      c,
      query: { kind, session_id: sessionId, agent, since: sinceMs, until: untilMs, ...paging },
      rawQuery,
    }) => {
      const asked = openPage(deps.cursorKey, path, rawQuery, paging);
      const filter = { kind, sessionId, agent, sinceMs, untilMs };
      // What is no identifier of ours is nobody's session.
      const isAnybodys = sessionId === undefined || isUuid(sessionId);
      const events = isAnybodys
        ? await deps.administrativeEvents.page({ ...filter, beforeId: asked.after, limit: asked.limit + 1 })
        : [];
      return c.json(toPage(deps.cursorKey, asked, events, toAuditEvent, ({ eventId }) => eventId));
    },
  );
}

const toAuditEvent = (event: AdministrativeEvent): z.input<typeof auditEvent> => ({
  event_id: event.eventId,
  kind: event.kind,
  ts: new Date(event.atMs).toISOString(),
  actor: event.actor,
  session_id: event.sessionId,
  agent: event.agent,
  reason: event.reason,
  details: event.details,
});
