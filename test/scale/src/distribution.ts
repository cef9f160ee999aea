import type { OwnPostgres } from "@svc/test-faults/postgres";
import postgres from "postgres";

/** The tables that a session's calls write and read: distributed by `session_id`, its rows are on one node. */
export const distributedTables = ["session", "session_state", "decision", "spend", "mint", "taint_mark"] as const;
export type DistributedTable = (typeof distributedTables)[number];

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Recheck Cond"?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/**
 * The distributed tables that a statement searches without a session, by the planner's own plan. Such a statement
 * would go to every node.
 */
export async function unboundTables(server: OwnPostgres, statement: string): Promise<readonly DistributedTable[]> {
  const unbound = nodesOf(await planOf(server, statement)).flatMap((node) => {
    const table = distributedTableOf(node["Relation Name"]);
    if (table === undefined || node["Node Type"] === "ModifyTable") return [];
    const condition = [node["Index Cond"], node["Recheck Cond"], node.Filter].join(" ");
    return /\bsession_id\b/.test(condition) ? [] : [table];
  });
  return [...new Set(unbound)];
}

/** The last one, since no month contains null, which replaces every parameter: the plan would be empty. */
const switchedOff = ["hashjoin", "mergejoin", "seqscan", "bitmapscan", "partition_pruning"];

/** For any parameters, with every join as a row-by-row look-up, so that each scan shows its condition. */
async function planOf(server: OwnPostgres, statement: string): Promise<PlanNode> {
  const sql = postgres(server.superuserUrl(), { max: 1, onnotice: () => {} });
  const count = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const parameters = count === 0 ? "" : `(${Array(count).fill("null").join()})`;
  try {
    for (const name of switchedOff) await sql.unsafe(`set enable_${name} = off`);
    await sql.unsafe("set plan_cache_mode = force_generic_plan");
    await sql.unsafe(`prepare probe as ${statement}`);
    const [row] = await sql.unsafe<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }[]>(
      `explain (format json) execute probe${parameters}`,
    );
    const [explained] = row?.["QUERY PLAN"] ?? [];
    if (explained === undefined) throw new Error(`no plan of: ${statement}`);
    return explained.Plan;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** A month of decisions is its own table. */
function distributedTableOf(relation = ""): DistributedTable | undefined {
  const name = relation.replace(/^decision_.*/, "decision");
  return distributedTables.find((table) => table === name);
}

/** Unique keys of distributed tables that do not hold `session_id`, as `table (columns)`. */
export async function keysWithoutSession(server: OwnPostgres): Promise<readonly string[]> {
  const rows = await server.execute(`
    select c.relname || ' (' || string_agg(a.attname, ', ' order by a.attnum) || ')' as key
    from pg_index i join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
    where i.indisunique and c.relnamespace = 'public'::regnamespace
      and c.relname in (${distributedTables.map((name) => `'${name}'`).join()})
    group by c.relname, i.indexrelid having not bool_or(a.attname = 'session_id') order by key`);
  return rows.map((row) => String(row.key));
}
