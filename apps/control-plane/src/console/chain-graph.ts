import type { Chain, DecisionRecord } from "@svc/core";
import { html } from "hono/html";
import type { SessionFacts } from "../ports/session-state.ts";
import type { Markup, Tone } from "./markup.ts";
import { outcomeTone } from "./words.ts";

const width = 360;
const boxHeight = 44;
const step = 96;
const inset = 4;

interface Node {
  readonly name: string;
  readonly kind: string;
  readonly tone: Tone;
}

/**
 * A chain as a drawing, from the human at the top down to the last target; each arrow is one decision. Text that does not
 * fit is cut, and whole in the element's title and in the table beside it.
 */
export function chainGraph({ hops, break: broken }: Chain, session: SessionFacts): Markup {
  const start: Node =
    broken === null
      ? { name: session.userSub, kind: "human", tone: "neutral" }
      : { name: hops[0]?.actingAgent ?? "", kind: "what came before is not known", tone: "deny" };
  const nodes = [start, ...hops.map(nodeOf)];
  const height = (nodes.length - 1) * step + boxHeight + 2 * inset;
  return html`<svg class="graph" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${described(nodes)}">
${arrowHead}
${hops.map((hop, index) => edge(hop, index))}
${nodes.map((node, index) => box(node, index * step + inset))}
</svg>`;
}

const nodeOf = (hop: DecisionRecord): Node => ({ name: hop.target, kind: hop.targetKind, tone: outcomeTone(hop) });

const described = (nodes: readonly Node[]): string =>
  `Delegation chain: ${nodes.map(({ name, kind }) => `${kind} ${name}`).join(", then ")}`;

const arrowHead = html`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>`;

function edge(hop: DecisionRecord, index: number): Markup {
  const top = index * step + inset + boxHeight;
  const middle = top + (step - boxHeight) / 2;
  return html`<path class="edge ${outcomeTone(hop)}" marker-end="url(#arrow)" d="M24 ${top}V${top + step - boxHeight - 1}"/>
<text class="label" x="38" y="${middle + 4}"><title>${hop.dataClass}</title>hop ${hop.hop} · ${cut(hop.dataClass, 36)}</text>`;
}

const box = ({ name, kind, tone }: Node, top: number): Markup => html`<g><title>${name}</title>
<rect class="node ${tone}" x="1" y="${top}" width="${width - 2}" height="${boxHeight}" rx="5"/>
<text class="kind" x="14" y="${top + 17}">${kind}</text>
<text class="name" x="14" y="${top + 34}">${cut(name, 42)}</text></g>`;

export const cut = (text: string, length: number): string => {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join("")}…`;
};
