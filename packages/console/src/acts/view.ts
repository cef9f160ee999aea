import { html } from "hono/html";
import { type Content, count, facts, isolated, link, type Markup, notice, plural, time } from "../markup.ts";
import { agentPath, sessionPath, shortId } from "../places.ts";
import type { View } from "../view.ts";
import { manifestBadge, sessionBadge } from "../words.ts";
import type { ActState, Again, AskedAct, Done, UpTo } from "./act.ts";
import { actPath } from "./offer.ts";
import { againAdvice, againWords, doneWords, effectWords, offerWords } from "./words.ts";

/** Why the form is shown once more, and the reason that was typed. */
interface Retry {
  readonly why: Again;
  readonly reason: string;
}

/** Asks an administrator to confirm one act. It has no script. */
export function confirmView(asked: AskedAct, retry?: Retry): View {
  const { act, state, isDue, from } = asked;
  return {
    title: offerWords(act),
    ...(retry && { status: retry.why.startsWith("reason") ? (400 as const) : (409 as const) }),
    body: html`${retry && html`<div role="alert">${notice("deny", againWords[retry.why], html`<p>${againAdvice[retry.why]}</p>`)}</div>`}
${isDue ? notice("observe", "From the next decision on", html`<p>${effectWords(act)}</p>`) : notice("neutral", "Nothing to do", html`<p>It would change nothing.</p>`)}
${facts(stateFacts(state, act.ref))}
${isDue ? form(asked, retry?.reason ?? "") : html`<p><a class="button" href="${from}">Back</a></p>`}`,
  };
}

const form = (
  { act, from, question, formToken }: AskedAct,
  reason: string,
): Markup => html`<form class="answer" method="post" action="${actPath}">
<input type="hidden" name="form" value="${formToken}">
<input type="hidden" name="question" value="${question}">
<label for="reason">Reason, kept in the record</label>
<textarea id="reason" name="reason" rows="3" maxlength="1000" required>${reason}</textarea>
<p><button class="act">${offerWords(act)}</button> <a class="button" href="${from}">Cancel</a></p>
</form>`;

type Facts = readonly (readonly [name: string, value: Content])[];

function stateFacts(state: ActState, ref: string): Facts {
  switch (state.of) {
    case "session": {
      const { facts: session, status, revocation } = state.session;
      return [
        ["Session", shortId(sessionPath(session.sessionId), session.sessionId)],
        ["Person", session.userSub],
        ["Scope", session.scope],
        ["Status", sessionBadge(status)],
        ["Ended", revocation && by(revocation)],
        ["Beside it", atMost(state.beside, "running session")],
      ];
    }
    case "person":
      return [
        ["Person", ref],
        ["Concerns", atMost(state.running, "running session")],
      ];
    case "agent": {
      const { identity, manifest, running } = state;
      return [
        ["Agent", link(agentPath(identity.agent), identity.agent)],
        ["Identity", identity.status === "none" ? "not enrolled" : identity.status],
        ["Since", identity.status !== "none" && time(identity.asOfMs)],
        ["Reason", identity.revokedReason],
        ["Latest manifest", manifest && html`version ${manifest.version} ${manifestBadge(manifest.status)}`],
        [
          "Concerns",
          atMost(running, "running session with a delegation to it", "running sessions with a delegation to it"),
        ],
      ];
    }
    case "block": {
      const { block, running, calls } = state;
      return [
        ["Name", html`<code>${isolated(ref)}</code>`],
        ["Block", block === undefined ? "none in force" : html`since ${time(block.createdAtMs)}`],
        ["Until", block && (block.untilMs === null ? "it is lifted" : time(block.untilMs))],
        ["Reason", block?.reason],
        ["Concerns", running && atMost(running, "running session")],
        ["Allowed calls", calls && html`${atMost(calls, "call")} in the last hour`],
      ];
    }
    default:
      return state satisfies never;
  }
}

const by = ({
  atMs,
  by: who,
  reason,
}: {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string | null;
}) => html`${time(atMs)} by ${isolated(who)}${reason !== null && html`: ${isolated(reason)}`}`;

const atMost = ({ count: found, most }: UpTo, one: string, many?: string): string =>
  found < most ? plural(found, one, many) : `at least ${count(most)} ${many ?? `${one}s`}`;

/** Above the page that the act was done from. */
export const doneNotice = (done: Done): Markup =>
  html`<div role="status">${notice("allow", "Done", html`<p>${doneWords(done)} The record has it, with your name and reason.</p>`)}</div>`;

const said = (status: 401 | 403 | 404 | 410, title: string, heading: string, advice: Content): View => ({
  title,
  status,
  body: notice("deny", heading, html`<p>${advice}</p>`),
});

export const notAllowedView = said(
  403,
  "Not allowed",
  "Only an administrator who signed in may do this.",
  html`Sign in with an account whose group has the role <code>admin</code> in <code>SVC_CONSOLE_ROLES</code>. A token does not do: the record names the person.`,
);

export const nothingView = said(
  404,
  "Nothing to act on",
  "Nothing has this name.",
  "Go back to the page, and load it again.",
);

/** Nothing was done, and no form is left to send. */
export const refusedViews = {
  foreign_form: said(
    403,
    "Not from here",
    "This form was not sent from a page of yours.",
    "Nothing was done. Go back, load the page again, and repeat it.",
  ),
  question_over: said(
    410,
    "Too late",
    "This form is over: it is good for 15 minutes, in one sign-in.",
    "Nothing was done. Go back, load the page again, and repeat it.",
  ),
  signed_out: said(
    401,
    "Signed out",
    "Your sign-in has ended.",
    html`Nothing was done. ${link("/console/sign-in", "Sign in")}, and repeat it.`,
  ),
} as const;
