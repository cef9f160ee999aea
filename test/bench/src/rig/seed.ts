import { createHash } from "node:crypto";
import { waitUntil } from "@svc/test-support";
import postgres, { type Sql } from "postgres";
import { progress } from "../progress.ts";

const rowsAtOnce = 100_000;
const rowsInSession = 100;

/** A moment of this month, so that the records have their own partition. */
const firstMs = () => Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1);

/** Time-ordered (RFC 9562 section 5.7), and computable from the row's number. */
export function seededActionId(row: number): string {
  const time = (firstMs() + row).toString(16).padStart(12, "0");
  const rest = createHash("md5").update(String(row)).digest("hex");
  const hex = `${time}7${rest.slice(0, 3)}8${rest.slice(3, 18)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Records as a control plane writes them: sessions of a hundred, chains of four hops, a twentieth denied, and a twentieth
 * denied but only observed, of 240 kinds. The scope "bench" must be compiled.
 */
export async function seedDecisions(url: string, rows: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql`set synchronous_commit = off`;
    await seedFunctions(sql);
    for (let first = 0; first < rows; first += rowsAtOnce) {
      progress(`${first.toLocaleString("en")} of ${rows.toLocaleString("en")} records are written`);
      await seedSome(sql, first, Math.min(rows, first + rowsAtOnce));
    }
    await sql`vacuum analyze`;
    progress(`${rows.toLocaleString("en")} records are sealed and counted`);
    await untilSealed(sql, rows);
    await untilCounted(sql);
  } finally {
    await sql.end();
  }
}

/** A seal stores an identifier and a leaf per row. */
const entryBytes = 48;

/**
 * A control plane would seal and count these rows for minutes, and readers would wait for it.
 */
const untilSealed = (sql: Sql, rows: number): Promise<boolean> =>
  waitUntil(
    "the records to be sealed",
    async () => {
      const [sealed] = await sql<{ bytes: string }[]>`select coalesce(sum(length(entries)), 0) as bytes from seal`;
      return Number(sealed?.bytes) >= rows * entryBytes;
    },
    3_600_000,
  );

const untilCounted = (sql: Sql): Promise<boolean> =>
  waitUntil(
    "the observed denies to be counted",
    async () => {
      const [left] = await sql`
        select from decision where not enforced and deny_reason is not null and seq > would_block_counted() limit 1`;
      return left === undefined;
    },
    3_600_000,
  );

const seedFunctions = (sql: Sql) =>
  sql.unsafe(`
    create function pg_temp.action_of(number bigint) returns uuid language sql immutable as $$
      select (lpad(to_hex(${firstMs()} + number), 12, '0') || '7' || left(md5(number::text), 3) || '8'
        || substr(md5(number::text), 4, 15))::uuid $$;
    create function pg_temp.session_of(number bigint) returns uuid language sql immutable as $$
      select md5('session ' || number / ${rowsInSession})::uuid $$;`);

async function seedSome(sql: Sql, first: number, end: number): Promise<void> {
  await sql`
    insert into session (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
    select pg_temp.session_of(number), 'bench', 'bench', 1, 8, 'seed', now(), now() + interval '1 day'
    from generate_series(${first}::bigint, ${end - 1}::bigint, ${rowsInSession}::bigint) number
    on conflict do nothing`;
  await sql`
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, deny_reason, recoverable, enforced, privileged, taint, taint_source, policy_version,
      guarantee_level, parent_action_id, decided_at)
    select pg_temp.action_of(number), 2, pg_temp.session_of(number), 'authorize', number % 4 + 1, '{}',
      'seed-agent-' || number % 20, case number % 20 when 7 then 'http:bench/tool-' || number / 20 % 240 else 'http:bench/read' end,
      'tool', 'bench', case when number % 20 in (3, 7) then 'deny' else 'allow' end,
      case when number % 20 in (3, 7) then 'TARGET_NOT_DECLARED' end, false, number % 20 <> 7, false, 'trusted_internal', null, 1, 'network',
      case when number % 4 > 0 then pg_temp.action_of(number - 1) end, now()
    from generate_series(${first}::bigint, ${end - 1}::bigint) number`;
}
