import { html } from "hono/html";
import { type Flow, type FlowNode, flowWords, nodeKey, toneOf } from "./flows.ts";
import { cut, drawing } from "./graph.ts";
import { type Markup, plural } from "./markup.ts";

/**
 * The flows as a graph: the people on the left, agents by their distance from them, tools on the right. Each node lists
 * the flows that end there, so that every arrow has its figures where it ends.
 */

const nodeWidth = 250;
const smallestGap = 96;
const largestGap = 260;
/** Of a desktop's window. */
const preferredWidth = 1_320;
const headHeight = 26;
const rowHeight = 17;
const nodeGap = 10;
const inset = 2;
const nameLength = 30;
const callerLength = 14;

interface Card {
  readonly node: FlowNode;
  readonly x: number;
  readonly y: number;
  readonly flowsIn: readonly Flow[];
}

const heightOf = (flowsIn: number): number => headHeight + flowsIn * rowHeight + (flowsIn > 0 ? 6 : 0);

/** @param hrefOf the address that a node leads to */
export function flowGraph(
  flows: readonly Flow[],
  minutes: number,
  hrefOf: (node: FlowNode) => string | undefined,
): Markup {
  const { cards, gap } = place(flows);
  const all = [...cards.values()];
  const area = {
    width: Math.max(...all.map(({ x }) => x)) + nodeWidth + smallestGap / 2,
    height: Math.max(...all.map(({ y, flowsIn }) => y + heightOf(flowsIn.length))) + inset,
  };
  return drawing(
    "Map",
    `${plural(flows.length, "connection")} of ${plural(all.length, "node")}; the table has the same`,
    area,
    html`${flows.map((flow) => arrow(flow, cards, gap))}
${all.map((card) => drawCard(card, minutes, hrefOf(card.node)))}`,
    "group",
  );
}

/** Each node in its column, those with the same callers near each other. */
function place(flows: readonly Flow[]): { readonly cards: ReadonlyMap<string, Card>; readonly gap: number } {
  const into = Map.groupBy(flows, ({ to }) => nodeKey(to));
  const columns = columnsOf(flows);
  const spare = (preferredWidth - columns.length * nodeWidth) / Math.max(1, columns.length - 1);
  const gap = Math.round(Math.min(largestGap, Math.max(smallestGap, spare)));
  const cards = new Map<string, Card>();
  const middleOf = (node: FlowNode): number => {
    const callers = (into.get(nodeKey(node)) ?? []).flatMap(({ from }) => cards.get(nodeKey(from)) ?? []);
    return callers.reduce((sum, { y }) => sum + y, 0) / Math.max(1, callers.length);
  };
  for (const [column, nodes] of columns.entries()) {
    let y = inset;
    for (const node of nodes.toSorted((a, b) => middleOf(a) - middleOf(b))) {
      const flowsIn = into.get(nodeKey(node)) ?? [];
      cards.set(nodeKey(node), { node, x: inset + column * (nodeWidth + gap), y, flowsIn });
      y += heightOf(flowsIn.length) + nodeGap;
    }
  }
  return { cards, gap };
}

/** Agents by their shortest way from the people, or from agents without a caller; tools in the last column. */
function columnsOf(flows: readonly Flow[]): readonly (readonly FlowNode[])[] {
  const nodes = new Map(flows.flatMap(({ from, to }) => [from, to]).map((node) => [nodeKey(node), node]));
  const callers = [...nodes.values()].filter(({ kind }) => kind !== "tool");
  const called = new Set(flows.map(({ to }) => nodeKey(to)));
  const placed = new Set<string>();
  const columns: FlowNode[][] = [];
  let next = callers.filter((node) => !called.has(nodeKey(node)));
  while (placed.size < callers.length) {
    // Agents that only call each other have no first one.
    const column = next.length > 0 ? next : callers.filter((node) => !placed.has(nodeKey(node))).slice(0, 1);
    for (const node of column) placed.add(nodeKey(node));
    columns.push(column);
    const keys = new Set(column.map(nodeKey));
    const reached = flows.filter(({ from, to }) => keys.has(nodeKey(from)) && to.kind !== "tool").map(({ to }) => to);
    next = [...new Map(reached.map((node) => [nodeKey(node), node])).values()].filter(
      (node) => !placed.has(nodeKey(node)),
    );
  }
  return [...columns, [...nodes.values()].filter(({ kind }) => kind === "tool")];
}

/** A curve to a column on the right; an arc around the cards to any other. */
function arrow(flow: Flow, cards: ReadonlyMap<string, Card>, gap: number): Markup | undefined {
  const [from, to] = [cards.get(nodeKey(flow.from)), cards.get(nodeKey(flow.to))];
  if (from === undefined || to === undefined) return undefined;
  const [startX, startY] = [from.x + nodeWidth, from.y + headHeight / 2];
  const endY = to.y + headHeight + to.flowsIn.indexOf(flow) * rowHeight + rowHeight / 2;
  const width = Math.min(4, 1 + Math.floor(Math.log10(flow.total)));
  const isForward = to.x > from.x;
  const endX = isForward ? to.x - 1 : to.x + nodeWidth + 1;
  const around = Math.max(startX, endX) + smallestGap / 2;
  const [bendStart, bendEnd] = isForward ? [startX + gap / 2, endX - gap / 2] : [around, around];
  return html`<path class="edge call ${toneOf(flow)} w${width}" marker-end="url(#arrow)" d="M${startX} ${startY}C${bendStart} ${startY} ${bendEnd} ${endY} ${endX} ${endY}"><title>${flow.from.name} → ${flow.to.name}</title></path>`;
}

function drawCard({ node, x, y, flowsIn }: Card, minutes: number, to: string | undefined): Markup {
  const name = html`<text class="name" x="${x + 10}" y="${y + 17}">${cut(node.name, nameLength)}</text>`;
  // Keyboards reach the same by the table.
  return html`<g><title>${node.kind} ${node.name}</title>
<rect class="node ${node.kind}" x="${x}" y="${y}" width="${nodeWidth}" height="${heightOf(flowsIn.length)}" rx="5"/>
${to === undefined ? name : html`<a href="${to}" tabindex="-1">${name}</a>`}
${flowsIn.map((flow, at) => row(flow, x + 10, y + headHeight + at * rowHeight + 12, minutes))}</g>`;
}

const row = (flow: Flow, x: number, y: number, minutes: number): Markup =>
  html`<text class="flow ${toneOf(flow)}" x="${x}" y="${y}"><title>${flow.from.name}</title>${cut(flow.from.name, callerLength)}: ${flowWords(flow, minutes)}</text>`;
