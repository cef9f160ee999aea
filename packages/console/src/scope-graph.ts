import type { PolicyDocument } from "@svc/core";
import { html } from "hono/html";
import { type Box, box, drawing, edge } from "./graph.ts";
import { type Markup, plural } from "./markup.ts";

const size = { width: 168, height: 42, nameLength: 20 };
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
    width: Math.max(...all.map(({ x }) => x)) + size.width + inset,
    height: Math.max(...all.map(({ y }) => y)) + size.height + inset,
  };
  return drawing(
    "Delegation graph",
    "Who may delegate to whom; the table of agents has the same",
    area,
    html`${edges.map(({ from, to }) => from !== undefined && to !== undefined && delegation(from, to))}
${all.map((one) => box(one, size))}`,
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
  const [startX, startY, endY] = [from.x + size.width, from.y + size.height / 2, to.y + size.height / 2];
  if (to.x > from.x) {
    const endX = to.x - 1;
    const bend = (endX - startX) / 2;
    return edge(`M${startX} ${startY}C${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}`);
  }
  const endX = to.x + size.width + 1;
  const around = Math.max(startX, endX) + 44;
  return edge(`M${startX} ${startY + 6}C${around} ${startY + 6} ${around} ${endY - 6} ${endX} ${endY - 6}`);
}
