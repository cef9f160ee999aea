import { connect, type Sql } from "../src/postgres/database.ts";

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** How many rows of the log the one statement reads that `ask` sends. */
export async function rowsRead(url: string, ask: (sql: Sql) => Promise<unknown>): Promise<number> {
  const sent: { text: string; values: unknown[] }[] = [];
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs: 5_000 });
  sql.options.debug = (_connection, text, values) => void sent.push({ text, values });
  try {
    await ask(sql);
    const { text = "", values = [] } = sent.findLast((one) => one.text.includes("from decision")) ?? {};
    const [row] = await sql.unsafe(`explain (analyze, format json) ${text}`, values as never[]);
    return scanned(row?.["QUERY PLAN"][0].Plan);
  } finally {
    await sql.end();
  }
}

const scanned = ({ Plans: inner = [], ...node }: PlanNode): number => {
  const own = node["Relation Name"]?.startsWith("decision")
    ? node["Actual Loops"] * (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0))
    : 0;
  return inner.reduce((sum, child) => sum + scanned(child), own);
};
