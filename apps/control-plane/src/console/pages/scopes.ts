import { type PolicyDocument, pagedQuery, policySchemaVersion, scopeName, version } from "@svc/core";
import { html } from "hono/html";
import { z } from "zod";
import { ApiError } from "../../http/api-error.ts";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { ScopeSummary } from "../../ports/declarations.ts";
import type { Deps } from "../../routes/deps.ts";
import { consentWords } from "../consent-words.ts";
import { badge, codes, facts, href, link, type Markup, notice, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { agentPath, scopePath } from "../places.ts";
import { scopeGraph } from "../scope-graph.ts";
import { table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { guaranteeWords } from "../words.ts";

const path = "/console/scopes";

export const scopesPage: Page = {
  path,
  async render(deps, { query }) {
    const request = openPage(deps.cursorKey, path, query, decodeQuery(query, pagedQuery));
    const rows = await deps.declarations.scopes({ after: request.after, limit: request.limit + 1 });
    const page = toPage(
      deps.cursorKey,
      request,
      rows,
      (row) => row,
      ({ scope }) => scope,
    );
    return {
      title: "Scopes",
      section: "Scopes",
      body: html`${table<ScopeSummary>({
        caption: "What people can consent to, by name",
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
        rows: page.data,
        whenEmpty: "No scope is compiled yet. The first accepted manifest that names one makes it.",
      })}
${pager(path, query, page.page.next_cursor)}`,
    };
  },
};

const scopeQuery = z.strictObject({ name: scopeName, version });

/** The scope stands in the query: it may be named `..`, which no path can say. */
export const scopePage: Page = { path: "/console/scope", render: renderScope };

async function renderScope({ policies }: Deps, { query }: PageRequest): Promise<View> {
  const { name, version } = decodeQuery(query, scopeQuery);
  const latest = await policies.latest(name);
  if (latest === undefined) throw new ApiError("scope_not_found", "Nothing is compiled for this scope.");
  const index = await policies.pinned(name, version ?? latest.version);
  if (index === undefined) throw new ApiError("policy_version_not_found", "The scope has no policy of this version.");
  const { version: shown, document } = index.policy;
  return {
    title: name,
    section: "Scopes",
    body: html`${
      shown !== latest.version &&
      notice(
        "observe",
        `Version ${shown} is not the present one`,
        html`<p>Sessions that pinned it keep it. ${link(scopePath(name), `Version ${latest.version}`)} is what a consent grants now.</p>`,
      )
    }
<section><h2>What a consent grants</h2>${consentWords(document)}</section>
<section><h2>Who may delegate to whom</h2>
${scopeGraph(document) ?? html`<p class="quiet">${Object.keys(document.agents).length} agents: too many, or none, to draw. The table has them all.</p>`}
${agentTable(document)}</section>
<section><h2>Tools</h2>${toolTable(document)}</section>
<section><h2>The policy</h2>${facts([
      ["Version", html`${shown} ${versionLinks(name, shown)}`],
      ["Longest chain", `${document.hop_budget} hops`],
      ["Delegation paths", document.paths.length],
      ["Observed calls", link(href("/console/would-block", { scope: name }), "what enforcing would block")],
      ["Sessions", link(href("/console/sessions", { scope: name }), "who consented")],
    ])}</section>`,
  };
}

const versionLinks = (scope: string, shown: number): Markup | false =>
  shown > 1 && html`(${link(scopePath(scope, shown - 1), `version ${shown - 1}`)} came before)`;

const agentTable = ({ agents, paths }: PolicyDocument): Markup =>
  table({
    caption: "Agents of the scope",
    columns: [
      { head: "Agent", cell: ([name]) => link(agentPath(name), name) },
      { head: "From the human", cell: ([, agent]) => (agent.entry ? "directly" : "through another agent") },
      { head: "Hands on to", cell: ([, agent]) => codes(agent.downstream_agents) },
      { head: "Hop budget", cell: ([, agent]) => agent.hop_budget, isNumber: true },
      { head: "Shortest path", cell: ([name]) => shortest(paths, name) },
      { head: "Manifest", cell: ([, agent]) => `version ${agent.manifest_version}` },
    ],
    rows: Object.entries(agents),
    whenEmpty: "No agent declares this scope any more.",
  });

/** Its chain and the effective budget of it. */
function shortest(paths: PolicyDocument["paths"], agent: string): Markup {
  const own = paths.filter(({ path: chain }) => chain.at(-1) === agent);
  const [first] = own.toSorted((a, b) => a.path.length - b.path.length);
  return first === undefined
    ? badge("deny", "not reachable")
    : html`human${first.path.map((name) => html` → <code>${name}</code>`)}, up to ${first.effective_hop_budget} hops`;
}

const toolTable = ({ tools }: PolicyDocument): Markup =>
  table({
    caption: "What may be called",
    columns: [
      { head: "Tool", cell: ({ ref }) => html`<code>${ref}</code>` },
      { head: "Data", cell: ({ data_classes: classes }) => codes(classes) },
      { head: "Privileged", cell: ({ privileged }) => (privileged ? "bound to its parameters" : "no") },
      {
        head: "After untrusted data",
        cell: ({ accepts_taint: accepts }) => (accepts ? "may be called" : "is refused"),
      },
      {
        head: "Its results",
        cell: ({ result_taint: taint }) => (taint === "untrusted_external" ? "are untrusted" : "are trusted"),
      },
      { head: "Guarantee", cell: ({ guarantee_level: level }) => guaranteeWords[level] },
    ],
    rows: tools,
    whenEmpty: "No tool is declared.",
  });
