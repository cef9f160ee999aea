import { type DecisionRecord, protocolDataClass } from "@svc/core";
import type { AuditReads, DecisionFilter, DecisionRow, DecisionsQuery } from "../ports/audit-reads.ts";
import type { Fragment, Pool, Sql } from "./database.ts";
import { selectedColumns } from "./decision-rows.ts";
import { ofOneSession } from "./one-value.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** What bounds the time of one page. */
const bounds = {
  /** A filter without an index reads at most so many rows. */
  rows: 100_000,
  /** Sessions of a person or scope, up to so many, are read one by one; more of them are frequent in the log. */
  sessions: 200,
};

type Found = DecisionRecord & Omit<DecisionRow, "record">;

export function decisionPages(pool: Pick<Pool, "rows" | "sql">, limits = bounds): AuditReads["decisions"] {
  const { rows, sql } = pool;
  const page = async (source: Fragment, order: Fragment): Promise<DecisionRow[]> => {
    const found = await rows<Found>`
      select ${sql.unsafe(selectedColumns)}, d.seq, s.spent_at as "spentAtMs", m.params_hash as "paramsHash"
      from (${source}) d left join spend s on s.action_id = d.action_id left join mint m on m.action_id = d.action_id
      order by d.seq ${order}`;
    return found.map(({ seq, spentAtMs, paramsHash, ...record }) => ({ seq, record, spentAtMs, paramsHash }));
  };
  return async (query) => {
    const { filter, limit } = query;
    const order = query.order === "oldest" ? sql`asc` : sql`desc`;
    const end = sql`order by d.seq ${order} limit`;
    const indexed = sql`select d.* from decision d where ${indexedConditions(sql, query)}`;
    const sessions = await fewSessions(pool, filter, limits.sessions);
    if (sessions !== undefined) {
      const scanned = scannedConditions(sql, { ...filter, userSub: undefined, scope: undefined });
      const one = ofOneSession(sql, sql`own.id`, order);
      const ofOne = sql`${indexed} ${[sql`and ${one.where}`, ...scanned]} ${one.orderBy} limit ${limit}`;
      return {
        rows: await page(
          sql`select d.* from unnest(${sessions}::uuid[]) as own(id) cross join lateral (${ofOne}) d ${end} ${limit}`,
          order,
        ),
      };
    }
    // A bound in a subquery lets the planner expect a small part, so it walks the log in its order.
    const scanned = scannedConditions(sql, filter);
    if (scanned.length === 0) return { rows: await page(sql`${indexed} ${end} ${limit}`, order) };
    const read = sql`select d.* from (${indexed} ${end} (select ${limits.rows}::bigint)) d where true ${scanned} ${end} ${limit}`;
    const found = await page(read, order);
    if (found.length === limit) return { rows: found };
    const [last] = await rows<{ seq: bigint }>`${indexed} ${end} 1 offset (select ${limits.rows - 1}::bigint)`;
    return { rows: found, readTo: last?.seq };
  };
}

/** Undefined where the filter names neither person nor scope, or they have too many. */
async function fewSessions(
  { rows, sql }: Pick<Pool, "rows" | "sql">,
  { userSub, scope }: DecisionFilter,
  most: number,
) {
  if (userSub === undefined && scope === undefined) return undefined;
  const found = await rows<{ id: string }>`
    select s.session_id as id from session s where true ${ofSession(sql, { userSub, scope })}
    limit ${most + 1}`;
  return found.length > most ? undefined : found.map(({ id }) => id);
}

const ofSession = (sql: Sql, { userSub, scope }: Pick<DecisionFilter, "userSub" | "scope">) => [
  userSub === undefined ? sql`` : sql`and s.user_sub = ${userSub}`,
  scope === undefined ? sql`` : sql`and s.scope = ${scope}`,
];

const given = (conditions: readonly (Fragment | false)[]): Fragment[] =>
  conditions.flatMap((condition) => (condition === false ? [] : [condition]));

/** The statement holds the given filters only, so that the planner finds their index. */
function indexedConditions(sql: Sql, { filter, after, order }: DecisionsQuery) {
  const { sessionId, agent, enforced, targetKind, taint, privileged } = filter;
  const conditions = given([
    after !== undefined && (order === "oldest" ? sql`and d.seq > ${after}` : sql`and d.seq < ${after}`),
    sessionId !== undefined && sql`and d.session_id = ${sessionId}`,
    agent !== undefined && sql`and d.acting_agent = ${agent}`,
    ...ofOutcome(sql, filter),
    enforced !== undefined && (enforced ? sql`and d.enforced` : sql`and not d.enforced`),
    targetKind !== undefined && sql`and d.target_kind = ${targetKind}`,
    taint !== undefined && sql`and d.taint = ${taint}`,
    privileged !== undefined && (privileged ? sql`and d.privileged` : sql`and not d.privileged`),
  ]);
  return [sql`true`, withinSpan(sql, filter, sql`d.decided_at`, sql`d.action_id`), ...conditions];
}

/** Conditions on single rows, which no index finds. */
function scannedConditions(sql: Sql, { target, protocol, userSub, scope }: DecisionFilter): Fragment[] {
  // docs/adr/0017-implicit-mcp-tool.md: the target is a whole MCP server.
  const isProtocol = sql`(d.data_class = ${protocolDataClass} and d.target like 'mcp:%' and d.target not like '%/%')`;
  return given([
    target !== undefined && sql`and d.target = ${target}`,
    protocol !== undefined && (protocol ? sql`and ${isProtocol}` : sql`and not ${isProtocol}`),
    (userSub !== undefined || scope !== undefined) &&
      sql`and exists (select from session s where s.session_id = d.session_id ${ofSession(sql, { userSub, scope })})`,
  ]);
}

/**
 * A deny has a reason and an allow has none (a constraint of the table). A partial index serves only the condition it is
 * written with: `deny_reason is not null` with an agent and for observed denies, `decision = 'deny'` otherwise.
 */
function ofOutcome(sql: Sql, { agent, outcome, denyReason, enforced }: DecisionFilter) {
  if (outcome === "allow") return [sql`and d.decision = 'allow'`, denyReason != null && sql`and false`];
  if (outcome === undefined && denyReason == null) return [];
  const hasIndexOfReasons = agent !== undefined || enforced === false;
  return [
    hasIndexOfReasons ? sql`and d.deny_reason is not null` : sql`and d.decision = 'deny'`,
    denyReason != null && sql`and d.deny_reason = ${denyReason}`,
  ];
}
