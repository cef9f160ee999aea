import { pagedQuery } from "@svc/core";
import { html } from "hono/html";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { AdministrativeEvent } from "../../ports/administrative-event.ts";
import type { StandingBlock } from "../../ports/blocks.ts";
import type { Deps } from "../../routes/deps.ts";
import { link, type Markup, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { agentPath, scopePath, sessionPath, shortId } from "../places.ts";
import { type Column, table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";

const path = "/console/denials";

/** Beyond that, they are to be read through the API. */
const shownBlocks = 200;
const shownEnds = 20;

export const denialsPage: Page = { path, render };

async function render(deps: Deps, { query: asked }: PageRequest): Promise<View> {
  const request = openPage(deps.cursorKey, path, asked, decodeQuery(asked, pagedQuery));
  const [blocks, revocations, ends] = await Promise.all([
    deps.blocks.page({ nowMs: deps.clock.nowMs(), after: undefined, limit: shownBlocks }),
    eventsOf(deps, "agent_revoked", request.after, request.limit + 1),
    eventsOf(deps, "session_revoked", undefined, shownEnds),
  ]);
  const page = toPage(
    deps.cursorKey,
    request,
    revocations,
    (event) => event,
    ({ eventId }) => eventId,
  );
  return {
    title: "What is denied for now",
    section: "Denials",
    body: html`<p>These hold from the next decision on, whatever policy a session has pinned.</p>
<section><h2>Emergency blocks</h2>${blockTable(blocks)}</section>
<section><h2>Revoked agents</h2>
${table({
  caption: "For good, newest first",
  columns: [
    { head: "Time", cell: ({ atMs }) => time(atMs) },
    { head: "Agent", cell: ({ agent }) => agent !== null && link(agentPath(agent), agent) },
    ...byWhom,
  ],
  rows: page.data,
  whenEmpty: "No agent was revoked.",
})}
${pager(path, asked, page.page.next_cursor)}</section>
<section><h2>Sessions ended early</h2>
${table({
  caption: `The last ${shownEnds}`,
  columns: [
    { head: "Time", cell: ({ atMs }) => time(atMs) },
    { head: "Session", cell: ({ sessionId }) => sessionId !== null && shortId(sessionPath(sessionId), sessionId) },
    ...byWhom,
  ],
  rows: ends,
  whenEmpty: "No session was ended before its time.",
})}</section>`,
  };
}

const eventsOf = (
  { administrativeEvents }: Deps,
  kind: "agent_revoked" | "session_revoked",
  beforeId: string | undefined,
  limit: number,
): Promise<readonly AdministrativeEvent[]> =>
  administrativeEvents.page({
    kind,
    beforeId,
    limit,
    sessionId: undefined,
    agent: undefined,
    sinceMs: undefined,
    untilMs: undefined,
  });

const byWhom: readonly Column<AdministrativeEvent>[] = [
  { head: "By", cell: ({ actor }) => actor },
  { head: "Reason", cell: ({ reason }) => reason },
];

/** Also on the overview. */
export const blockTable = (blocks: readonly StandingBlock[]): Markup =>
  table({
    caption: "In force",
    columns: [
      { head: "What", cell: blockedThing },
      { head: "Reason", cell: ({ reason }) => reason },
      { head: "Since", cell: ({ createdAtMs }) => time(createdAtMs) },
      { head: "Until", cell: ({ untilMs }) => (untilMs === null ? "it is lifted" : time(untilMs)) },
    ],
    rows: blocks,
    whenEmpty: html`No block stands. One is set with <code>PUT /v1/blocks/{kind}/{ref}</code>.`,
  });

function blockedThing({ kind, ref }: StandingBlock): Markup {
  const named =
    kind === "tool" ? html`<code>${ref}</code>` : link(kind === "agent" ? agentPath(ref) : scopePath(ref), ref);
  return html`${kind} ${named}`;
}
