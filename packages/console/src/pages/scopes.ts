import { grantsNothing, type PolicyDocument, policySchemaVersion, protocolDataClass } from "@svc/core";
import { html } from "hono/html";
import { notFoundPage } from "../failure-page.ts";
import { scopeGraph } from "../graph.ts";
import { badge, codes, facts, href, link, type Markup, notice, plural, time } from "../markup.ts";
import { agentPath, scopePath, toolLink } from "../places.ts";
import { pageOf, table } from "../table.ts";
import type { Page } from "../view.ts";
import { guaranteeWords, yesNo } from "../words.ts";
import { blockTable } from "./denials.ts";

const path = "/console/scopes";

export const scopesPage: Page = {
  path,
  async render({ reads }, { query }) {
    const scopes = await reads.scopes(query);
    return {
      title: "Scopes",
      section: "Scopes",
      body: html`${pageOf(path, query, scopes, {
        caption: "By name",
        columns: [
          { head: "Scope", cell: ({ scope }) => link(scopePath(scope), scope) },
          { head: "Policy", cell: ({ version }) => `version ${version}` },
          { head: "Compiled", cell: ({ compiledAtMs }) => time(compiledAtMs) },
          {
            head: "Consent",
            cell: ({ schemaVersion }) =>
              schemaVersion === policySchemaVersion ? badge("allow", "possible") : badge("deny", "resubmit a manifest"),
          },
          { head: "Would block", cell: ({ scope }) => link(href("/console/would-block", { scope }), "review") },
        ],
        whenEmpty: "No scope yet. The first accepted manifest that names a scope creates it.",
      })}`,
    };
  },
};

export const scopePage: Page = {
  path: "/console/scope",
  async render({ reads }, { query, offer }) {
    const policy = await reads.policy(query);
    if (policy === undefined) return notFoundPage("scope", path, "the scopes");
    const { scope, version, latestVersion, document } = policy;
    if (document === undefined) return notFoundPage("policy version", path, "the scopes");
    const blocks = await reads.blocksOf("scope", [scope]);
    return {
      title: scope,
      section: "Scopes",
      body: html`${
        version !== latestVersion &&
        notice(
          "observe",
          `Version ${version} is not the latest`,
          html`<p>Sessions that began with it keep it. A consent now grants ${link(scopePath(scope), `version ${latestVersion}`)}.</p>`,
        )
      }
<p class="lead">A scope. Blocked? ${yesNo(blocks.length > 0)}</p>
${blocks.length > 0 && html`<section><h2>Emergency blocks</h2>${blockTable(blocks, offer)}</section>`}
${offer(blocks.length === 0 && { act: "set_block", kind: "scope", ref: scope })}
<section><h2>What a consent grants</h2>${consentWords(document)}</section>
<section><h2>Who may delegate to whom</h2>
${scopeGraph(document) ?? html`<p class="quiet">No drawing of ${plural(Object.keys(document.agents).length, "agent")}. The table lists them.</p>`}
${agentTable(document)}</section>
<section><h2>Tools</h2>${toolTable(document)}</section>
<section><h2>Policy</h2>${facts([
        ["Version", html`${version} ${previousVersion(scope, version)}`],
        ["Longest chain", plural(document.hop_budget, "hop")],
        ["Delegation paths", document.paths.length],
        ["Observed calls", link(href("/console/would-block", { scope }), "calls that enforcement would block")],
        ["Sessions", link(href("/console/sessions", { scope }), "consents to this scope")],
      ])}</section>`,
    };
  },
};

/** What a consent to this scope grants, in sentences for the person who decides. */
function consentWords(document: PolicyDocument): Markup {
  if (grantsNothing(document)) {
    return html`<p>Nothing: the scope has no entry agent, so consent to it is refused.</p>`;
  }
  const { agents, data_classes: classes, tools, hop_budget: hops } = document;
  const entries = Object.keys(agents).filter((name) => agents[name]?.entry);
  const others = document.downstream_agents.filter((name) => !entries.includes(name));
  const named = (matches: (tool: PolicyDocument["tools"][number]) => boolean): string[] =>
    tools.filter(matches).map(({ ref }) => ref);
  const bound = named(({ privileged }) => privileged);
  const refusing = named((tool) => !tool.accepts_taint);
  const outside = named(({ result_taint: taint }) => taint === "untrusted_external");
  const data = (names: readonly string[]): string[] => names.filter((name) => name !== protocolDataClass);
  return html`<ul class="words">
<li>${codes(entries)} may act for the person${others.length > 0 && html`, and may delegate to ${codes(others)}`}. A chain has at most ${plural(hops, "hop")}.</li>
<li>Together they may <b>read</b> ${codes(data(classes.reads))} and <b>change</b> ${codes(data(classes.writes))}.</li>
${bound.length > 0 && html`<li>Each call of ${codes(bound)} is <b>bound to its exact parameters</b>.</li>`}
${outside.length > 0 && html`<li>${codes(outside)} ${outside.length === 1 ? "returns" : "return"} <b>untrusted content</b>.${refusing.length > 0 && html` An agent that received it can no longer call ${codes(refusing)}.`}</li>`}
<li>Everything else is denied.</li>
</ul>`;
}

const previousVersion = (scope: string, version: number): Markup | false =>
  version > 1 && html`(before: ${link(scopePath(scope, version - 1), `version ${version - 1}`)})`;

const agentTable = ({ agents, paths }: PolicyDocument): Markup =>
  table({
    caption: "Agents of the scope",
    columns: [
      { head: "Agent", cell: ([name]) => link(agentPath(name), name) },
      { head: "Delegation by the person", cell: ([, agent]) => (agent.entry ? "direct" : "through another agent") },
      { head: "May delegate to", cell: ([, agent]) => codes(agent.downstream_agents) },
      { head: "Hop budget", cell: ([, agent]) => agent.hop_budget, isNumber: true },
      { head: "Shortest path", cell: ([name]) => shortestPath(paths, name) },
      { head: "Manifest", cell: ([, agent]) => `version ${agent.manifest_version}` },
    ],
    rows: Object.entries(agents),
    whenEmpty: "No agent declares this scope.",
  });

function shortestPath(paths: PolicyDocument["paths"], agent: string): Markup {
  const own = paths.filter(({ path: chain }) => chain.at(-1) === agent);
  const [first] = own.toSorted((a, b) => a.path.length - b.path.length);
  return first === undefined
    ? badge("deny", "unreachable")
    : html`person${first.path.map((name) => html` → <code>${name}</code>`)}, up to ${plural(first.effective_hop_budget, "hop")}`;
}

const toolTable = ({ tools }: PolicyDocument): Markup =>
  table({
    caption: "Tools of the scope",
    columns: [
      { head: "Tool", cell: ({ ref }) => toolLink(ref) },
      { head: "Data", cell: ({ data_classes: classes }) => codes(classes) },
      { head: "Privileged", cell: ({ privileged }) => (privileged ? "yes, bound to its parameters" : "no") },
      { head: "After untrusted data", cell: ({ accepts_taint: accepts }) => (accepts ? "allowed" : "denied") },
      {
        head: "Results",
        cell: ({ result_taint: taint }) => (taint === "untrusted_external" ? "untrusted" : "trusted"),
      },
      { head: "Guarantee", cell: ({ guarantee_level: level }) => guaranteeWords[level] },
    ],
    rows: tools,
    whenEmpty: "No tool is declared.",
  });
