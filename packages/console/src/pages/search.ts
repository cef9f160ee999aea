import { denyReasons } from "@svc/core";
import { html } from "hono/html";
import { eventNames } from "../event-words.ts";
import { count, href, link, type Markup, plural, time } from "../markup.ts";
import { actionPath, agentPath, personPath, scopePath, sessionPath, toolPath } from "../places.ts";
import type { Match } from "../ports.ts";
import { searchPath } from "../search-box.ts";
import { table } from "../table.ts";
import { type Page, seeOther } from "../view.ts";
import { denyLabel } from "../words.ts";
import { decisionsPath } from "./decision-filter.ts";

/** What has no index is looked for among so many newest rows of its kind. */
const newest = 20_000;

interface Result {
  readonly kind: string;
  readonly name: string;
  readonly to: string;
  readonly isExact: boolean;
  readonly detail?: Markup | undefined;
}

/** Leads to the one page that matches, or lists the matches. */
export const searchPage: Page = {
  path: searchPath,
  async render({ reads }, { query }) {
    const text = (query.q ?? "").trim();
    const found = text === "" ? [] : await reads.search(text, newest);
    const results = [...found.map(resultOf), ...(text === "" ? [] : reasonsLike(text))];
    const exact = results.filter(({ isExact }) => isExact);
    const [only] = exact.length === 1 ? exact : results;
    if (only !== undefined && (exact.length === 1 || results.length === 1)) return seeOther(only.to);
    return {
      title: "Search",
      body: html`${text !== "" && html`<p class="lead">${plural(results.length, "result")} for <code>${text}</code></p>`}
${table({
  caption: "Whole ids and names first",
  columns: [
    { head: "Kind", cell: ({ kind }) => kind },
    { head: "Name", cell: ({ to, name }) => link(to, html`<code>${name}</code>`) },
    { head: "Details", cell: ({ detail }) => detail },
  ],
  rows: results.toSorted((a, b) => Number(b.isExact) - Number(a.isExact)),
  whenEmpty: text === "" ? "Enter an id, the end of one as pages show it, a name or a reason." : "No matches.",
})}
<p class="hint">Whole ids, agents and scopes are found in the whole record. The end of an id (4 to 12 characters), persons, tools and the reasons of events are looked for among the newest ${count(newest)} decisions, sessions and events; a person also by the whole name. For older ones ${link(decisionsPath, "filter the decisions")}.</p>`,
    };
  },
};

const reasonsLike = (text: string): readonly Result[] => {
  const wanted = text.toLowerCase();
  return denyReasons
    .filter((reason) => reason.toLowerCase().includes(wanted) || denyLabel(reason).toLowerCase().includes(wanted))
    .map((reason) => ({
      kind: "deny reason",
      name: reason,
      to: href(decisionsPath, { deny_reason: reason }),
      isExact: reason.toLowerCase() === wanted,
      detail: html`${denyLabel(reason)}`,
    }));
};

function resultOf(match: Match): Result {
  const { kind, ref: name, isExact } = match;
  return { kind: kind === "action" ? "decision" : kind, name, to: placeOf(match), isExact, detail: detailOf(match) };
}

function placeOf({ kind, ref, eventKind, atMs }: Match): string {
  switch (kind) {
    case "action":
      return actionPath(ref);
    case "session":
      return sessionPath(ref);
    case "agent":
      return agentPath(ref);
    case "scope":
      return scopePath(ref);
    case "person":
      return personPath(ref);
    case "tool":
      return toolPath(ref);
    case "event":
      return eventPlace(eventKind ?? undefined, atMs ?? 0);
    default:
      return kind satisfies never;
  }
}

/** The list of events, which holds this one alone or with others of its millisecond. */
const eventPlace = (kind: string | undefined, atMs: number): string =>
  href("/console/events", {
    kind,
    since: new Date(atMs).toISOString(),
    until: new Date(atMs + 1).toISOString(),
  });

const detailOf = ({ eventKind, atMs, reason }: Match): Markup | undefined =>
  eventKind === null
    ? undefined
    : html`${eventNames[eventKind]} ${atMs !== null && time(atMs)}${reason !== null && html`: <bdi>${reason}</bdi>`}`;
