import { type DecisionRecord, denyReasonTable, type ExplainedCheck, type Explanation } from "@svc/core";
import { html } from "hono/html";
import { explainAction } from "../../commands/record/explain.ts";
import { type ReadBack, readChain } from "../../commands/record/read-chain.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Deps } from "../../routes/deps.ts";
import { chainGraph } from "../chain-graph.ts";
import { badge, facts, href, link, type Markup, notice, time } from "../markup.ts";
import { actionPath, actor, scopePath, sessionPath, shortId, target } from "../places.ts";
import { table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { breakWords, checkFacts, checkQuestions, guaranteeWords, outcomeBadge } from "../words.ts";

export const actionPage: Page = { path: "/console/actions/:action_id", render };

async function render(deps: Deps, { params }: PageRequest): Promise<View> {
  const actionId = params.action_id ?? "";
  const [explained, read] = await Promise.all([explainAction(deps, actionId), readChain(deps, actionId)]);
  if (explained === undefined || read === undefined) throw new ApiError("action_not_found", "There is no such action.");
  const { record, explanation } = explained;
  return {
    title: "Why it was decided so",
    section: "Decisions",
    body: html`${verdict(record, explanation)}
<div class="columns">
<section><h2>The checks</h2>${checkTable(explanation)}</section>
<section><h2>Back to the human</h2>${chainOf(read)}</section>
</div>
<section><h2>The record</h2>${recordFacts(record, read)}</section>`,
  };
}

function verdict(record: DecisionRecord, { remedy }: Explanation): Markup {
  const call = html`<p class="lead">${outcomeBadge(record)} ${actor(record)} → ${target(record)} for <code>${record.dataClass}</code></p>`;
  if (record.denyReason === null) return call;
  const observed = !record.enforced && html`<p>Observe mode let the call through; enforcing would have blocked it.</p>`;
  return html`${call}${notice(
    record.enforced ? "deny" : "observe",
    `Denied: ${denyReasonTable[record.denyReason].label} (${record.denyReason})`,
    html`${observed}${remedy !== null && html`<p><b>What would admit it.</b> ${remedy}</p>`}`,
  )}`;
}

/** Those behind the first that failed did not decide: they say what they would have said. */
function checkTable({ checks }: Explanation): Markup {
  const decisive = checks.findIndex(({ passed }) => !passed);
  const said = ({ check, passed }: ExplainedCheck): Markup => {
    const at = checks.findIndex((other) => other.check === check);
    if (at === decisive) return badge("deny", "no: this decided");
    if (decisive !== -1 && at > decisive) return badge("neutral", passed ? "would pass" : "would fail");
    return badge("allow", "yes");
  };
  return table({
    caption: "Every check in its order, with what it looked at",
    columns: [
      { head: "Check", cell: ({ check }) => checkQuestions[check] },
      { head: "Answer", cell: said },
      { head: "What it looked at", cell: checkFacts },
    ],
    rows: checks,
    whenEmpty: "The record holds no checks.",
  });
}

function chainOf({ chain, session }: ReadBack): Markup {
  const broken =
    chain.break !== null &&
    notice(
      "deny",
      `The chain breaks at hop ${chain.break.atHop}`,
      html`<p>It cannot be followed further up: ${breakWords[chain.break.reason]} (${chain.break.reason}). The session's human is ${session.userSub}.</p>`,
    );
  return html`${broken}<div class="graph-frame" tabindex="0" role="region" aria-label="Chain graph">${chainGraph(chain, session)}</div>
${table({
  caption: "The same chain, hop by hop",
  columns: [
    { head: "Hop", cell: ({ hop }) => hop, isNumber: true },
    { head: "Who", cell: actor },
    { head: "Target", cell: target },
    { head: "Outcome", cell: outcomeBadge },
    { head: "Action", cell: ({ actionId }) => shortId(actionPath(actionId), actionId) },
  ],
  rows: chain.hops,
  whenEmpty: "No hop was reached.",
})}`;
}

const recordFacts = (record: DecisionRecord, { session }: ReadBack): Markup =>
  facts([
    ["Action", html`<code>${record.actionId}</code>`],
    ["Decided", time(record.decidedAtMs)],
    ["Decided at", record.stage],
    ["Session", link(sessionPath(record.sessionId), html`<code>${record.sessionId}</code>`)],
    [
      "Scope",
      html`${link(scopePath(session.scope, record.policyVersion), session.scope)}, version ${record.policyVersion}`,
    ],
    ["Consented by", `${session.userSub}, through ${session.consentedBy}`],
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
