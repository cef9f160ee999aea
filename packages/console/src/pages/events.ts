import { type AdministrativeEvent, administrativeEventKinds } from "@svc/core";
import { html } from "hono/html";
import { actorOf, detailList, eventNames, subjectsOf } from "../event-words.ts";
import { type Field, filtered, filterForm } from "../form.ts";
import { time } from "../markup.ts";
import { spanFields, spanIssues, withInstants } from "../span.ts";
import { type Column, pageOf } from "../table.ts";
import type { Page } from "../view.ts";

export const eventsPath = "/console/events";

/** Every filter of the audit API. */
const fields: readonly Field[] = [
  { name: "kind", label: "Event", options: administrativeEventKinds.map((kind) => [kind, eventNames[kind]] as const) },
  { name: "actor", label: "By" },
  { name: "agent", label: "Agent it concerns" },
  { name: "session_id", label: "Session" },
  ...spanFields,
];

export const eventColumns: readonly Column<AdministrativeEvent>[] = [
  { head: "Time", cell: ({ atMs }) => time(atMs) },
  { head: "Event", cell: ({ kind }) => html`<span title="${kind}">${eventNames[kind]}</span>` },
  { head: "By", cell: actorOf },
  { head: "Concerns", cell: subjectsOf },
  { head: "Reason", cell: ({ reason }) => reason },
  { head: "Details", cell: detailList },
];

export const eventsPage: Page = {
  path: eventsPath,
  async render({ reads, clock }, { query }) {
    // A cursor is bound to its query, so the pages of a relative span share its beginning.
    const asked = withInstants(query, clock.nowMs());
    const { rows: events, issues } = await filtered(() => reads.events(asked));
    const shown = { title: "Events", section: "Events" } as const;
    if (events === undefined) {
      return { ...shown, status: 400, body: filterForm(eventsPath, fields, query, [...spanIssues(query), ...issues]) };
    }
    return {
      ...shown,
      body: html`${filterForm(eventsPath, fields, query)}
${pageOf(eventsPath, asked, events, {
  caption: "Consents, manifests, revocations, blocks, keys, sign-ins and views; newest first",
  columns: eventColumns,
  whenEmpty:
    Object.keys(query).length === 0
      ? "No events yet. The first manifest and the first consent appear here."
      : "No events match. Clear a filter, or widen the span of time.",
})}`,
    };
  },
};
