import { grantsNothing, type PolicyDocument, protocolDataClass } from "@svc/core";
import { html } from "hono/html";
import { codes, type Markup, plural } from "./markup.ts";

/** What a person agrees to with this scope, in sentences for whoever has to say yes or no. */
export function consentWords(document: PolicyDocument): Markup {
  if (grantsNothing(document))
    return html`<p>Nothing: no agent can be delegated to under this scope, so nobody can consent to it.</p>`;
  const { agents, data_classes: classes, tools, hop_budget: hops } = document;
  const entries = Object.keys(agents).filter((name) => agents[name]?.entry);
  const others = document.downstream_agents.filter((name) => !entries.includes(name));
  const named = (matches: (tool: PolicyDocument["tools"][number]) => boolean): string[] =>
    tools.filter(matches).map(({ ref }) => ref);
  const bound = named(({ privileged }) => privileged);
  const outside = named(({ result_taint: taint }) => taint === "untrusted_external");
  const data = (names: readonly string[]): string[] => names.filter((name) => name !== protocolDataClass);
  return html`<ul class="words">
<li>${codes(entries)} may act for the person who consents${others.length > 0 && html`, and may hand work on to ${codes(others)}`}. No chain is longer than ${plural(hops, "hop")}.</li>
<li>Together they may <b>read</b> ${codes(data(classes.reads))} and <b>change</b> ${codes(data(classes.writes))}.</li>
${bound.length > 0 && html`<li>Each call of ${codes(bound)} is <b>bound to its exact parameters</b>: what was decided is what is done.</li>`}
${outside.length > 0 && html`<li>${codes(outside)} ${outside.length === 1 ? "brings" : "bring"} in content that <b>strangers may have written</b>. Whoever touched it can no longer call what refuses it: ${codes(named((tool) => !tool.accepts_taint))}.</li>`}
<li>Whatever is not named here is denied.</li>
</ul>`;
}
