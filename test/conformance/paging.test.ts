import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type One, startOne } from "./src/stack.ts";

let one: One;
let sql: postgres.Sql;

beforeAll(async () => {
  one = await startOne();
  sql = postgres(one.database.appUrl, { max: 8, onnotice: () => {} });
});
afterAll(async () => {
  await sql.end();
  await one.stop();
});

const session = crypto.randomUUID();

/** Inserts this many decisions in one statement; returns their ids. */
async function append(on: postgres.Sql | postgres.TransactionSql, count: number): Promise<readonly string[]> {
  const rows = await on<{ action_id: string }[]>`
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
    select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') ||
        '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid,
      2, ${session}, 'authorize', 1, '{}', 'ada', 'planner', 'agent', 'finance', 'allow', false, true, false,
      'trusted_internal', 1, clock_timestamp()
    from generate_series(1, ${count}) returning action_id`;
  return rows.map(({ action_id }) => action_id);
}

interface Writer {
  /** Appends until `stop`, beside a transaction that stays open until `commit`. */
  start(): void;
  commit(): void;
  stop(): Promise<void>;
}

/** It has written rows that are not yet visible. */
async function openWriter(): Promise<Writer> {
  const [opened, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = sql.begin(async (tx) => {
    await append(tx, 5);
    opened.resolve();
    await mayCommit.promise;
    await append(tx, 5);
  });
  await opened.promise;
  let isWriting = true;
  const appending = Promise.withResolvers<void>();
  return {
    start() {
      const appendMore = async (): Promise<void> => {
        while (isWriting) await append(sql, 3);
      };
      appending.resolve(appendMore());
    },
    commit: mayCommit.resolve,
    async stop() {
      isWriting = false;
      mayCommit.resolve();
      await Promise.all([late, appending.promise]);
    },
  };
}

test("10,000 rows page without repeat, gap or disorder while four writers append and some commit late", async () => {
  const older = await append(sql, 5_000);
  const writers = await Promise.all([openWriter(), openWriter(), openWriter(), openWriter()]);
  const before = [...older, ...(await append(sql, 5_000))];
  for (const writer of writers) writer.start();
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { status, body } = await one.api.decisions(`session_id=${session}&limit=200${more}`);
    expect(status).toBe(200);
    seen.push(...body.data.map(({ action_id }: { action_id: string }) => action_id));
    cursor = body.page.next_cursor;
    // Two commit before the cursor reaches their rows, two after it has passed them.
    if (seen.length === 4_000) for (const writer of writers.slice(0, 2)) writer.commit();
    if (seen.length === 8_000) for (const writer of writers.slice(2)) writer.commit();
  } while (cursor !== null);
  await Promise.all(writers.map((writer) => writer.stop()));
  expect(new Set(seen).size).toBe(seen.length);
  const committed = new Set(before);
  expect(seen.filter((id) => committed.has(id))).toEqual([...before].reverse());
});
