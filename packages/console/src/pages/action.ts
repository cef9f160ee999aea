import type { DecisionRecord, ExplainedCheck, Explanation } from "@svc/core";
import { html } from "hono/html";
import type { Act } from "../acts/act.ts";
import { evidenceSection } from "../evidence.ts";
import { notFoundPage } from "../failure-page.ts";
import { chainGraph } from "../graph.ts";
import { badge, facts, href, isolated, link, type Markup, notice, time } from "../markup.ts";
import { actionPath, caller, scopePath, sessionPath, shortId, target } from "../places.ts";
import type { Action } from "../ports.ts";
import { table } from "../table.ts";
import type { Page } from "../view.ts";
import { breakWords, checkFacts, checkQuestions, denyLabel, guaranteeWords, outcomeBadge } from "../words.ts";

export const actionPage: Page = {
  path: "/console/actions/:action_id",
  async render({ reads, clock, issuer, traceUrl }, { params, offer }) {
    const actionId = params.action_id ?? "";
    const action = await reads.action(actionId);
    if (action === undefined) return notFoundPage("action", "/console/decisions", "the decisions");
    const evidence = await reads.evidence(action.record.actionId);
    return {
      title: "One decision",
      section: "Decisions",
      body: html`${verdict(action)}
${offer(...stops(action))}
<div class="columns">
<section><h2>Checks</h2>${checkTable(action.explanation)}</section>
<section><h2>Chain back to the person</h2>${chainOf(action)}</section>
</div>
<section><h2>Record</h2>${recordFacts(action)}
${traceUrl !== undefined && html`<p>${link(traceOf(action, traceUrl), "Trace of this call")}</p>`}</section>
<section><h2>Evidence</h2>${evidenceSection(action, evidence, clock.nowMs(), issuer)}</section>`,
    };
  },
};

const traceOf = ({ record: { actionId, sessionId } }: Action, traceUrl: string): string =>
  traceUrl.replaceAll("{action_id}", actionId).replaceAll("{session_id}", sessionId);

function verdict({ record, explanation: { remedy } }: Action): Markup {
  const call = html`<p class="lead">${outcomeBadge(record)} ${caller(record)} → ${target(record)} for <code>${record.dataClass}</code></p>`;
  if (record.denyReason === null) return call;
  const observed = !record.enforced && html`<p>Observe mode let the call pass; enforcement would have blocked it.</p>`;
  return html`${call}${notice(
    record.enforced ? "deny" : "observe",
    `Denied: ${denyLabel(record.denyReason)} (${record.denyReason})`,
    html`${observed}${remedy !== null && html`<p><b>To admit it:</b> ${isolated(remedy)}</p>`}`,
  )}`;
}

/** What would deny such a call from now on. */
function stops({ record }: Action): readonly Act[] {
  const { sessionId, hop, actingAgent, target: name, targetKind } = record;
  return [
    { act: "set_block", kind: targetKind, ref: name },
    { act: "end_session", ref: sessionId },
    ...(hop > 1 ? [{ act: "revoke_agent", ref: actingAgent } as const] : []),
  ];
}

/** The first check that fails decides; the ones after it have only the result they would have had. */
function checkTable({ checks }: Explanation): Markup {
  const decisive = checks.findIndex(({ passed }) => !passed);
  const answer = ({ check, passed }: ExplainedCheck): Markup => {
    const at = checks.findIndex((other) => other.check === check);
    const whenPassed = checkQuestions[check][1];
    const word = passed ? whenPassed : whenPassed === "yes" ? "no" : "yes";
    if (at === decisive) return badge("deny", `${word}: denied`);
    return badge(decisive !== -1 && at > decisive ? "neutral" : "allow", word);
  };
  return table({
    caption: "In order; the first failed check decides, later ones are for information",
    columns: [
      { head: "Check", cell: ({ check }) => checkQuestions[check][0] },
      { head: "Answer", cell: answer },
      { head: "Facts", cell: checkFacts },
    ],
    rows: checks,
    whenEmpty: "The record has no checks.",
  });
}

function chainOf({ chain, session }: Action): Markup {
  const broken =
    chain.break !== null &&
    notice(
      "deny",
      `The chain breaks at hop ${chain.break.atHop}`,
      html`<p>The hops before are unknown: ${breakWords[chain.break.reason]} (${chain.break.reason}). ${isolated(session.userSub)} consented to the session.</p>`,
    );
  return html`${broken}${chainGraph(chain, session)}
${table<DecisionRecord>({
  caption: "The same chain, hop by hop",
  columns: [
    { head: "Hop", cell: ({ hop }) => hop, isNumber: true },
    { head: "Caller", cell: caller },
    { head: "Target", cell: target },
    { head: "Outcome", cell: outcomeBadge },
    { head: "Action", cell: ({ actionId }) => shortId(actionPath(actionId), actionId) },
  ],
  rows: chain.hops,
  whenEmpty: "The chain has no hops.",
})}`;
}

const recordFacts = ({ record, session }: Action): Markup =>
  facts([
    ["Action", html`<code>${record.actionId}</code>`],
    ["Decided", time(record.decidedAtMs)],
    ["Stage", record.stage],
    ["Session", link(sessionPath(record.sessionId), html`<code>${record.sessionId}</code>`)],
    [
      "Scope",
      html`${link(scopePath(session.scope, record.policyVersion), session.scope)}, version ${record.policyVersion}`,
    ],
    ["Consent", html`${isolated(session.userSub)}, recorded by ${isolated(session.consentedBy)}`],
    ["Enforced", record.enforced ? "yes" : "no, observe mode"],
    ["Privileged", record.privileged ? "yes: bound to its exact parameters" : "no"],
    ["Guarantee", record.guaranteeLevel && guaranteeWords[record.guaranteeLevel]],
    [
      "Taint",
      record.taint === "untrusted_external" &&
        html`untrusted data of <code>${record.taintSource ?? "an unknown source"}</code>`,
    ],
    ["Recoverable", record.recoverable && "yes, by another consent"],
    ["Same session", link(href("/console/decisions", { session_id: record.sessionId }), "its decisions")],
  ]);
