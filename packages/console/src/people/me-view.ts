import type { DecisionRecord, SessionSummary } from "@svc/core";
import { html } from "hono/html";
import { code, isolated, type Markup, plural, time } from "../markup.ts";
import { type Column, table } from "../table.ts";
import { denyWords, outcomeBadge, sessionBadge } from "../words.ts";
import type { Person, PersonView } from "./layout.ts";

/** One consent, with what was done with it, newest first. */
export interface AllowedSession extends SessionSummary {
  readonly decisions: readonly DecisionRecord[];
}

const columns: readonly Column<DecisionRecord>[] = [
  { head: "When", cell: ({ decidedAtMs }) => time(decidedAtMs) },
  { head: "Outcome", cell: outcomeBadge },
  { head: "Who", cell: ({ actingAgent }) => actingAgent },
  {
    head: "Did",
    cell: ({ target, targetKind }) => html`${targetKind === "agent" && "handed work to "}${code(target)}`,
  },
  { head: "Why not", cell: ({ denyReason }) => denyWords(denyReason) },
];

/** What the person allowed, and what came of it. @param more older consents are not shown */
export function meView(person: Person, sessions: readonly AllowedSession[], more: boolean): PersonView {
  const running = sessions.filter(({ status }) => status === "active");
  const past = sessions.filter(({ status }) => status !== "active");
  return {
    title: "What you allowed",
    body: html`<p class="lead">${
      running.length === 0
        ? "Nothing runs in your name now."
        : `${plural(running.length, "consent")} of yours ${running.length === 1 ? "is" : "are"} in force.`
    }</p>
${running.length > 1 && endForm(person, html`<input type="hidden" name="all" value="yes">`, "End all")}
${running.map((session) => sessionSection(person, session))}
${past.length > 0 && html`<h2>Ended</h2>${past.map((session) => sessionSection(person, session))}`}
${more && html`<p class="hint">Older consents are not shown. The operators of this service can read the whole record.</p>`}`,
  };
}

const sessionSection = (
  person: Person,
  { facts: session, status, revocation, decisions }: AllowedSession,
): Markup => html`
<section class="ask">
<h3>${isolated(session.scope)} ${sessionBadge(status)}</h3>
<p>You consented ${time(session.consentedAtMs)}${session.consentedBy !== session.userSub && html` (recorded by ${isolated(session.consentedBy)})`}; ${
  revocation === null
    ? html`${status === "active" ? "it ends" : "it ended"} ${time(session.expiresAtMs)}`
    : html`it was ended ${time(revocation.atMs)}`
}.</p>
${status === "active" && endForm(person, html`<input type="hidden" name="session" value="${session.sessionId}">`, "End it")}
<details${status === "active" && html` open`}><summary>What was done with it</summary>
${table({ caption: "Newest first", columns, rows: decisions, whenEmpty: "Nothing yet." })}
</details>
</section>`;

const endForm = ({ formToken }: Person, field: Markup, words: string): Markup => html`
<form method="post" action="/me/end"><input type="hidden" name="form" value="${formToken}">${field}<button>${words}</button></form>`;
