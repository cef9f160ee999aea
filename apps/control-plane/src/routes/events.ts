import { agentName, page, userSub } from "@svc/core";
import { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, pageQuery, toPage } from "../http/page.ts";
import { spanQuery, withSpan } from "../http/query-values.ts";
import { type AdministrativeEvent, administrativeEventKinds } from "../ports/administrative-event.ts";
import type { Deps } from "./deps.ts";

const path = "/v1/audit/events";

/** An act beside the decisions (contract: Audit). */
const auditEvent = z
  .object({
    event_id: z.string(),
    kind: z.enum(administrativeEventKinds),
    ts: z.iso.datetime(),
    actor: z.string().meta({ description: "The label of the bearer, or who held the token." }),
    session_id: z.string().nullable(),
    agent: z.string().nullable(),
    reason: z.string().nullable(),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .meta({ description: "Facts of the kind." }),
  })
  .meta({ id: "AuditEvent" });

const query = withSpan(
  z.strictObject({
    ...pageQuery,
    kind: z.enum(administrativeEventKinds).optional(),
    session_id: userSub.optional(),
    agent: agentName.optional().meta({ description: "The agent it concerns." }),
    ...spanQuery,
  }),
);

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
      query,
      replies: {
        200: { description: "One page, newest first.", schema: page(auditEvent).meta({ id: "AuditEventPage" }) },
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
