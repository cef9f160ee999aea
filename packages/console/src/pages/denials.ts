import type { AdministrativeEvent, StandingBlock } from "@svc/core";
import { html } from "hono/html";
import { noOffer, type Offer } from "../acts/offer.ts";
import { link, type Markup, time } from "../markup.ts";
import { agentPath, scopePath, sessionPath, shortId, toolLink } from "../places.ts";
import { type Column, pageOf, table } from "../table.ts";
import type { Page } from "../view.ts";

const path = "/console/denials";

/** The API lists any further ones. */
const shownBlocks = 200;
const shownSessions = 20;

export const denialsPage: Page = {
  path,
  async render({ reads }, { query, offer }) {
    const [blocks, agents, sessions] = await Promise.all([
      reads.blocks(shownBlocks),
      reads.revokedAgents(query),
      reads.revokedSessions(shownSessions),
    ]);
    return {
      title: "Denials in force",
      section: "Denials",
      body: html`<p>These apply from the next decision on, to sessions of every policy version.</p>
<section><h2>Emergency blocks</h2>${blockTable(blocks, offer)}</section>
<section><h2>Revoked agents</h2>
${pageOf(path, query, agents, {
  caption: "Newest first",
  columns: [
    { head: "Time", cell: ({ atMs }) => time(atMs) },
    { head: "Agent", cell: ({ agent }) => agent !== null && link(agentPath(agent), agent) },
    ...byAndReason,
  ],
  whenEmpty: "No agent is revoked.",
})}</section>
<section><h2>Revoked sessions</h2>
${table({
  caption: `The newest ${shownSessions}`,
  columns: [
    { head: "Time", cell: ({ atMs }) => time(atMs) },
    { head: "Session", cell: ({ sessionId }) => sessionId !== null && shortId(sessionPath(sessionId), sessionId) },
    ...byAndReason,
  ],
  rows: sessions,
  whenEmpty: "No session was revoked.",
})}</section>`,
    };
  },
};

const byAndReason: readonly Column<AdministrativeEvent>[] = [
  { head: "By", cell: ({ actor }) => actor },
  { head: "Reason", cell: ({ reason }) => reason },
];

export const blockTable = (blocks: readonly StandingBlock[], offer: Offer = noOffer): Markup =>
  table({
    caption: "In force",
    columns: [
      { head: "Blocked", cell: blocked },
      { head: "Reason", cell: ({ reason }) => reason },
      { head: "Since", cell: ({ createdAtMs }) => time(createdAtMs) },
      { head: "Until", cell: ({ untilMs }) => (untilMs === null ? "no end" : time(untilMs)) },
      ...(offer === noOffer ? [] : [liftColumn(offer)]),
    ],
    rows: blocks,
    whenEmpty: html`No block is in force. Set one with <code>PUT /v1/blocks/{kind}/{ref}</code>.`,
  });

const liftColumn = (offer: Offer): Column<StandingBlock> => ({
  head: "Lift",
  cell: ({ kind, ref }) => offer({ act: "lift_block", kind, ref }),
});

function blocked({ kind, ref }: StandingBlock): Markup {
  const named = kind === "tool" ? toolLink(ref) : link(kind === "agent" ? agentPath(ref) : scopePath(ref), ref);
  return html`${kind} ${named}`;
}
