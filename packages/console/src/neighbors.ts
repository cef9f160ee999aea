import type { CallCount, CompiledPolicy } from "@svc/core";
import { html } from "hono/html";
import { byCaller, byTarget, type Usage, usageColumns } from "./calls.ts";
import { age, badge, link, type Markup, plural } from "./markup.ts";
import { agentPath, scopePath, target } from "./places.ts";
import { table } from "./table.ts";

/** A row of a table of calls: with a declaration, with counted calls, or with both. */
interface Neighbor extends Usage {
  readonly name: string;
  readonly kind: "person" | "agent" | "tool";
  readonly scopes: readonly string[];
}

const unused = { total: 0, denied: 0, observed: 0, lastMs: 0 };

/** Declared ones first by their calls; then those that were called without a declaration. */
function neighbors(declared: readonly Omit<Neighbor, keyof Usage>[], used: readonly Neighbor[]): readonly Neighbor[] {
  const keyOf = ({ kind, name }: Pick<Neighbor, "kind" | "name">): string => `${kind} ${name}`;
  const usage = new Map(used.map((one) => [keyOf(one), one]));
  const known = new Set(declared.map(keyOf));
  const rows = declared.map((one) => ({ ...unused, ...usage.get(keyOf(one)), ...one }));
  return [...rows, ...used.filter((one) => !known.has(keyOf(one)))].sort((a, b) => b.total - a.total);
}

/** One row for each name, with all the scopes it is declared under. */
function declaredBy(
  policies: readonly CompiledPolicy[],
  namesIn: (policy: CompiledPolicy) => readonly (readonly [kind: Neighbor["kind"], name: string])[],
): readonly Omit<Neighbor, keyof Usage>[] {
  const found = policies.flatMap((policy) =>
    namesIn(policy).map(([kind, name]) => ({ kind, name, scope: policy.scope })),
  );
  return [...Map.groupBy(found, ({ kind, name }) => `${kind} ${name}`).values()].flatMap((group) =>
    group.slice(0, 1).map(({ kind, name }) => ({ kind, name, scopes: [...new Set(group.map(({ scope }) => scope))] })),
  );
}

const neighborColumns = (rows: readonly Neighbor[]) => [
  {
    head: "Declared under",
    cell: ({ scopes }: Neighbor) =>
      scopes.length === 0
        ? badge("observe", "not declared")
        : html`${scopes.map((scope, at) => html`${at > 0 && ", "}${link(scopePath(scope), scope)}`)}`,
  },
  ...usageColumns(rows),
  { head: "Last", cell: ({ lastMs }: Neighbor) => lastMs > 0 && age(lastMs) },
];

/** What an agent may call, and what it called. */
export function targetTable(agent: string, policies: readonly CompiledPolicy[], calls: readonly CallCount[]): Markup {
  const declared = declaredBy(policies, ({ document }) => {
    const own = document.agents[agent];
    const tools = own?.tools.map(({ ref }) => ["tool", ref] as const) ?? [];
    return [...tools, ...(own?.downstream_agents.map((name) => ["agent", name] as const) ?? [])];
  });
  const used = byTarget(calls).map(({ call, ...usage }) => ({
    ...usage,
    name: call.target,
    kind: call.targetKind,
    scopes: [],
  }));
  const rows = neighbors(declared, used);
  return table({
    caption: `Declared, and in the last 24 hours: ${plural(rows.length, "target")}`,
    columns: [
      {
        head: "Target",
        cell: ({ kind, name }) => target({ target: name, targetKind: kind === "agent" ? "agent" : "tool" }),
      },
      ...neighborColumns(rows),
    ],
    rows,
    whenEmpty: "It declares no tool, and called none.",
  });
}

const people = { kind: "person", name: "people" } as const;

/** Who may delegate to an agent, and who did. */
export function callerTable(agent: string, policies: readonly CompiledPolicy[], calls: readonly CallCount[]): Markup {
  const declared = declaredBy(policies, ({ document }) => [
    ...(document.agents[agent]?.entry ? [[people.kind, people.name] as const] : []),
    ...Object.entries(document.agents)
      .filter(([, { downstream_agents: names }]) => names.includes(agent))
      .map(([name]) => ["agent", name] as const),
  ]);
  const ofPeople = calls.map((call) => (call.byPerson ? { ...call, actingAgent: people.name } : call));
  const used = byCaller(ofPeople).map(({ call, ...usage }) => ({
    ...usage,
    name: call.actingAgent,
    kind: call.byPerson ? people.kind : ("agent" as const),
    scopes: [],
  }));
  const rows = neighbors(declared, used);
  return table({
    caption: `Declared, and in the last 24 hours: ${plural(rows.length, "caller")}`,
    columns: [
      { head: "Caller", cell: ({ kind, name }) => (kind === "person" ? name : link(agentPath(name), name)) },
      ...neighborColumns(rows),
    ],
    rows,
    whenEmpty: "No policy has a delegation to it.",
  });
}
