import type { PolicyDocument } from "@svc/core";
import { html } from "hono/html";
import { cut } from "./chain-graph.ts";
import type { Markup } from "./markup.ts";

const nodeWidth = 168;
const nodeHeight = 42;
const columnStep = 236;
const rowStep = 58;
const inset = 2;
/** A larger graph is no drawing any more. */
const drawable = 60;

interface Placed {
  readonly name: string;
  readonly kind: string;
  readonly x: number;
  readonly y: number;
}

/** Who may hand on to whom under a scope, the human to the left; undefined where there is too much to draw. */
export function scopeGraph({ agents }: PolicyDocument): Markup | undefined {
  const names = Object.keys(agents);
  if (names.length === 0 || names.length > drawable) return undefined;
  const placed = place(agents);
  const human: Placed = { name: "the human", kind: "consents", x: inset, y: inset };
  const edges = Object.entries(agents).flatMap(([name, agent]) => [
    ...(agent.entry ? [{ from: human, to: placed.get(name) }] : []),
    ...agent.downstream_agents.map((to) => ({ from: placed.get(name), to: placed.get(to) })),
  ]);
  const nodes = [human, ...placed.values()];
  const width = Math.max(...nodes.map(({ x }) => x)) + nodeWidth + inset;
  const height = Math.max(...nodes.map(({ y }) => y)) + nodeHeight + inset;
  return html`<div class="graph-frame" tabindex="0" role="region" aria-label="Delegation graph"><svg class="graph" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Who may delegate to whom; the table of agents says the same">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
${edges.map(({ from, to }) => from !== undefined && to !== undefined && edge(from, to))}
${nodes.map(box)}
</svg></div>`;
}

/** Each agent stands in the column of its shortest way from the human; who cannot be reached, in the last one. */
function place(agents: PolicyDocument["agents"]): ReadonlyMap<string, Placed> {
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
        const tools = agents[name]?.tools.length ?? 0;
        const kind = `${tools} ${tools === 1 ? "tool" : "tools"}${depth === last ? ", not reachable" : ""}`;
        return [name, { name, kind, x: inset + depth * columnStep, y: inset + row * rowStep }] as const;
      }),
    ),
  );
}

/** Forward from side to side; back, or within a column, in an arc around. */
function edge(from: Placed, to: Placed): Markup {
  const [startY, endY] = [from.y + nodeHeight / 2, to.y + nodeHeight / 2];
  if (to.x > from.x) {
    const [startX, endX] = [from.x + nodeWidth, to.x - 1];
    const bend = (endX - startX) / 2;
    return html`<path class="edge" marker-end="url(#arrow)" d="M${startX} ${startY}C${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}"/>`;
  }
  const [startX, endX] = [from.x + nodeWidth, to.x + nodeWidth + 1];
  const around = Math.max(startX, endX) + 44;
  return html`<path class="edge" marker-end="url(#arrow)" d="M${startX} ${startY + 6}C${around} ${startY + 6} ${around} ${endY - 6} ${endX} ${endY - 6}"/>`;
}

const box = ({ name, kind, x, y }: Placed): Markup => html`<g><title>${name}</title>
<rect class="node neutral" x="${x}" y="${y}" width="${nodeWidth}" height="${nodeHeight}" rx="5"/>
<text class="name" x="${x + 12}" y="${y + 18}">${cut(name, 20)}</text>
<text class="kind" x="${x + 12}" y="${y + 33}">${kind}</text></g>`;
