import { grantsNothing, type PolicyDocument, protocolDataClass } from "@svc/core";
import { html } from "hono/html";
import { codes, type Markup, plural } from "./markup.ts";

/** What a consent to this scope grants, in sentences for the person who decides. */
export function consentWords(document: PolicyDocument): Markup {
  if (grantsNothing(document)) {
    return html`<p>Nothing: the scope has no entry agent, so consent to it is refused.</p>`;
  }
  const { agents, data_classes: classes, tools, hop_budget: hops } = document;
  const entries = Object.keys(agents).filter((name) => agents[name]?.entry);
  const others = document.downstream_agents.filter((name) => !entries.includes(name));
  const named = (matches: (tool: PolicyDocument["tools"][number]) => boolean): string[] =>
    tools.filter(matches).map(({ ref }) => ref);
  const bound = named(({ privileged }) => privileged);
  const outside = named(({ result_taint: taint }) => taint === "untrusted_external");
  const data = (names: readonly string[]): string[] => names.filter((name) => name !== protocolDataClass);
  return html`<ul class="words">
<li>${codes(entries)} may act for the person${others.length > 0 && html`, and may delegate to ${codes(others)}`}. A chain has at most ${plural(hops, "hop")}.</li>
<li>Together they may <b>read</b> ${codes(data(classes.reads))} and <b>change</b> ${codes(data(classes.writes))}.</li>
${bound.length > 0 && html`<li>Each call of ${codes(bound)} is <b>bound to its exact parameters</b>.</li>`}
${outside.length > 0 && html`<li>${codes(outside)} ${outside.length === 1 ? "returns" : "return"} <b>untrusted content</b>. An agent that received it can no longer call ${codes(named((tool) => !tool.accepts_taint))}.</li>`}
<li>Everything else is denied.</li>
</ul>`;
}
