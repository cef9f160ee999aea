import type { Chain, DecisionRecord } from "@svc/core";
import { html } from "hono/html";
import { type Box, box, cut, drawing, edge } from "./graph.ts";
import type { Markup } from "./markup.ts";
import type { SessionFacts } from "./ports.ts";
import { outcomeTone } from "./words.ts";

const size = { width: 358, height: 44, nameLength: 42 };
const step = 96;
const inset = 4;

/** A chain from the person at the top to the last target; each arrow is one decision. The table beside it has the same. */
export function chainGraph({ hops, break: broken }: Chain, session: SessionFacts): Markup {
  const start: Omit<Box, "x" | "y"> =
    broken === null
      ? { name: session.userSub, kind: "person", tone: "neutral" }
      : { name: hops[0]?.actingAgent ?? "", kind: "unknown origin", tone: "deny" };
  const nodes = [start, ...hops.map((hop) => ({ name: hop.target, kind: hop.targetKind, tone: outcomeTone(hop) }))];
  const area = { width: size.width + 2, height: (nodes.length - 1) * step + size.height + 2 * inset };
  const description = nodes.map(({ name, kind }) => `${kind} ${name}`).join(", then ");
  return drawing(
    "Chain graph",
    `Delegation chain: ${description}`,
    area,
    html`${hops.map(hopEdge)}
${nodes.map((node, index) => box({ ...node, x: 1, y: index * step + inset }, size))}`,
  );
}

function hopEdge(hop: DecisionRecord, index: number): Markup {
  const top = index * step + inset + size.height;
  const gap = step - size.height;
  return html`${edge(`M24 ${top}V${top + gap - 1}`, outcomeTone(hop))}
<text class="label" x="38" y="${top + gap / 2 + 4}"><title>${hop.dataClass}</title>hop ${hop.hop} · ${cut(hop.dataClass, 36)}</text>`;
}
