import type { Chain, DecisionRecord, PolicyDocument, SessionFacts } from "@svc/core";
import { html } from "hono/html";
import { type Markup, plural, type Tone } from "./markup.ts";
import { outcomeTone } from "./words.ts";

interface Box {
  readonly name: string;
  readonly kind: string;
  readonly tone: Tone;
  readonly x: number;
  readonly y: number;
}

interface BoxSize {
  readonly width: number;
  readonly height: number;
  /** How many characters of a name fit. */
  readonly nameLength: number;
}

/** Wider drawings do not fit a phone. */
const phoneWidth = 340;

/** An SVG that scrolls within its frame on a narrow screen. `img` is one picture; a `group` has links. */
export const drawing = (
  label: string,
  description: string,
  { width, height }: { readonly width: number; readonly height: number },
  content: Markup,
  role: "img" | "group" = "img",
): Markup =>
  html`${width > phoneWidth && html`<p class="hint sideways">Scroll the drawing sideways. The table below has the same.</p>`}<div class="graph-frame" tabindex="0" role="region" aria-label="${label}"><svg class="graph" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="${role}" aria-label="${description}">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
${content}
</svg></div>`;

/** A name that does not fit is cut; the title has all of it. */
const box = ({ name, kind, tone, x, y }: Box, { width, height, nameLength }: BoxSize): Markup =>
  html`<g><title>${name}</title>
<rect class="node ${tone}" x="${x}" y="${y}" width="${width}" height="${height}" rx="5"/>
<text class="kind" x="${x + 12}" y="${y + 17}">${kind}</text>
<text class="name" x="${x + 12}" y="${y + 34}">${cut(name, nameLength)}</text></g>`;

const edge = (path: string, tone: Tone | "" = ""): Markup =>
  html`<path class="edge ${tone}" marker-end="url(#arrow)" d="${path}"/>`;

export const cut = (text: string, length: number): string => {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join("")}…`;
};

const agentBox = { width: 168, height: 42, nameLength: 20 };
const columnStep = 236;
const rowStep = 58;
const inset = 2;
/** A graph of more agents is unreadable. */
const maxAgents = 60;

/** Who may delegate to whom under a scope, the person on the left; undefined where there are too many agents, or none. */
export function scopeGraph({ agents }: PolicyDocument): Markup | undefined {
  const names = Object.keys(agents);
  if (names.length === 0 || names.length > maxAgents) return undefined;
  const boxes = place(agents);
  const person: Box = { name: "the person", kind: "consents", tone: "neutral", x: inset, y: inset };
  const edges = Object.entries(agents).flatMap(([name, agent]) => [
    ...(agent.entry ? [{ from: person, to: boxes.get(name) }] : []),
    ...agent.downstream_agents.map((to) => ({ from: boxes.get(name), to: boxes.get(to) })),
  ]);
  const all = [person, ...boxes.values()];
  const area = {
    width: Math.max(...all.map(({ x }) => x)) + agentBox.width + inset,
    height: Math.max(...all.map(({ y }) => y)) + agentBox.height + inset,
  };
  return drawing(
    "Delegation graph",
    "Who may delegate to whom; the table of agents has the same",
    area,
    html`${edges.map(({ from, to }) => from !== undefined && to !== undefined && delegation(from, to))}
${all.map((one) => box(one, agentBox))}`,
  );
}

/** Each agent in the column of its shortest path from the person; unreachable agents in the last one. */
function place(agents: PolicyDocument["agents"]): ReadonlyMap<string, Box> {
  const depths = new Map<string, number>();
  let column = Object.keys(agents).filter((name) => agents[name]?.entry);
  for (let depth = 1; column.length > 0; depth += 1) {
    for (const name of column) depths.set(name, depth);
    const next = column.flatMap((name) => agents[name]?.downstream_agents ?? []);
    column = [...new Set(next)].filter((name) => Object.hasOwn(agents, name) && !depths.has(name));
  }
  const last = Math.max(0, ...depths.values()) + 1;
  const columns = Map.groupBy(Object.keys(agents), (name) => depths.get(name) ?? last);
  return new Map(
    [...columns].flatMap(([depth, names]) =>
      names.map((name, row) => {
        const kind = `${plural(agents[name]?.tools.length ?? 0, "tool")}${depth === last ? ", unreachable" : ""}`;
        return [
          name,
          { name, kind, tone: "neutral", x: inset + depth * columnStep, y: inset + row * rowStep },
        ] as const;
      }),
    ),
  );
}

/** A curve to a column on the right; an arc around the boxes to any other. */
function delegation(from: Box, to: Box): Markup {
  const [startX, startY, endY] = [from.x + agentBox.width, from.y + agentBox.height / 2, to.y + agentBox.height / 2];
  if (to.x > from.x) {
    const endX = to.x - 1;
    const bend = (endX - startX) / 2;
    return edge(`M${startX} ${startY}C${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}`);
  }
  const endX = to.x + agentBox.width + 1;
  const around = Math.max(startX, endX) + 44;
  return edge(`M${startX} ${startY + 6}C${around} ${startY + 6} ${around} ${endY - 6} ${endX} ${endY - 6}`);
}

const hopBox = { width: 358, height: 44, nameLength: 42 };
const hopStep = 96;
const hopInset = 4;

/** A chain from the person at the top to the last target; each arrow is one decision. The table beside it has the same. */
export function chainGraph({ hops, break: broken }: Chain, session: SessionFacts): Markup {
  const start: Omit<Box, "x" | "y"> =
    broken === null
      ? { name: session.userSub, kind: "person", tone: "neutral" }
      : { name: hops[0]?.actingAgent ?? "", kind: "unknown origin", tone: "deny" };
  const nodes = [start, ...hops.map((hop) => ({ name: hop.target, kind: hop.targetKind, tone: outcomeTone(hop) }))];
  const area = { width: hopBox.width + 2, height: (nodes.length - 1) * hopStep + hopBox.height + 2 * hopInset };
  const description = nodes.map(({ name, kind }) => `${kind} ${name}`).join(", then ");
  return drawing(
    "Chain graph",
    `Delegation chain: ${description}`,
    area,
    html`${hops.map(hopEdge)}
${nodes.map((node, index) => box({ ...node, x: 1, y: index * hopStep + hopInset }, hopBox))}`,
  );
}

function hopEdge(hop: DecisionRecord, index: number): Markup {
  const top = index * hopStep + hopInset + hopBox.height;
  const gap = hopStep - hopBox.height;
  return html`${edge(`M24 ${top}V${top + gap - 1}`, outcomeTone(hop))}
<text class="label" x="38" y="${top + gap / 2 + 4}"><title>${hop.dataClass}</title>hop ${hop.hop} · ${cut(hop.dataClass, 36)}</text>`;
}
