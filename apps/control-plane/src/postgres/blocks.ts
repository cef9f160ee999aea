import type { BlockKind } from "@svc/core";
import type { NewEvent } from "../ports/administrative-event.ts";
import type { BlockChanges, BlockQuery, Blocks, StandingBlock } from "../ports/blocks.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";

export const blockChanges = (writer: Pool): BlockChanges => ({
  set: (block, event) => writer.transaction((tx) => set(tx, block, event)),
  lift: (kind, ref, event) => writer.transaction((tx) => lift(tx, kind, ref, event)),
});

export const blocks = (reader: Pool): Blocks => ({ page: (query) => reader.run((sql) => page(sql, query)) });

const blockColumns = (sql: Sql | Transaction) =>
  sql`kind, ref, reason, until as "untilMs", created_at as "createdAtMs"`;

/** A lapsed block is replaced and gets a new `created_at`. */
async function set(tx: Transaction, block: StandingBlock, event: NewEvent): Promise<StandingBlock> {
  const { kind, ref, reason, createdAtMs } = block;
  const until = block.untilMs === null ? null : new Date(block.untilMs);
  const [changed] = await tx<StandingBlock[]>`
    insert into block as b (kind, ref, reason, until, created_at)
    values (${kind}, ${ref}, ${reason}, ${until}, ${new Date(createdAtMs)})
    on conflict (kind, ref) do update set reason = excluded.reason, until = excluded.until,
      created_at = case when b.until <= excluded.created_at then excluded.created_at else b.created_at end
    where (b.reason, b.until) is distinct from (excluded.reason, excluded.until)
    returning ${blockColumns(tx)}`;
  if (changed !== undefined) {
    await replaceDenialEpoch(tx);
    await insertAdministrativeEvent(tx, event);
    return changed;
  }
  const [standing] = await tx<StandingBlock[]>`
    select ${blockColumns(tx)} from block where kind = ${kind} and ref = ${ref}`;
  // The conflict locked the row, so it exists.
  return standing ?? block;
}

async function lift(tx: Transaction, kind: BlockKind, ref: string, event: NewEvent): Promise<boolean> {
  const { count } = await tx`
    delete from block where kind = ${kind} and ref = ${ref} and (until is null or until > ${new Date(event.atMs)})`;
  if (count === 0) return false;
  await replaceDenialEpoch(tx);
  await insertAdministrativeEvent(tx, event);
  return true;
}

/** Compares refs by byte, so that no locale changes the pages. */
const page = (sql: Sql, { nowMs, after, limit }: BlockQuery) => sql<StandingBlock[]>`
  select ${blockColumns(sql)} from block
  where (until is null or until > ${new Date(nowMs)})
    ${after === undefined ? sql`` : sql`and (kind collate "C", ref collate "C") > (${after.kind}, ${after.ref})`}
  order by kind collate "C", ref collate "C" limit ${limit}`;
