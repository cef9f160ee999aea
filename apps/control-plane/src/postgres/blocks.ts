import type { BlockKind } from "@svc/core";
import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import type { BlockQuery, Blocks, StandingBlock } from "../ports/blocks.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";

export interface BlockStoreSettings {
  readonly writer: Sql;
  readonly reader: Sql;
  readonly commitDeadlineMs: number;
  readonly readDeadlineMs: number;
}

export const blockStore = ({ writer, reader, commitDeadlineMs, readDeadlineMs }: BlockStoreSettings): Blocks => ({
  set: (block, event) =>
    bounded(
      commitDeadlineMs,
      writer.begin((tx) => set(tx, block, event)),
    ),
  lift: (kind, ref, event) =>
    bounded(
      commitDeadlineMs,
      writer.begin((tx) => lift(tx, kind, ref, event)),
    ),
  page: (query) => bounded(readDeadlineMs, page(reader, query)),
});

/** What lapsed is not changed but replaced, and so begins anew. */
async function set(tx: Transaction, block: StandingBlock, event: AdministrativeEvent): Promise<StandingBlock> {
  const { kind, ref, reason, createdAtMs } = block;
  const until = block.untilMs === null ? null : new Date(block.untilMs);
  const [changed] = await tx<BlockRow[]>`
    insert into block as b (kind, ref, reason, until, created_at)
    values (${kind}, ${ref}, ${reason}, ${until}, ${new Date(createdAtMs)})
    on conflict (kind, ref) do update set reason = excluded.reason, until = excluded.until,
      created_at = case when b.until <= excluded.created_at then excluded.created_at else b.created_at end
    where (b.reason, b.until) is distinct from (excluded.reason, excluded.until)
    returning kind, ref, reason, until, created_at`;
  if (changed !== undefined) {
    await replaceDenialEpoch(tx);
    await insertAdministrativeEvent(tx, event);
    return toBlock(changed);
  }
  const [standing] = await tx<BlockRow[]>`
    select kind, ref, reason, until, created_at from block where kind = ${kind} and ref = ${ref}`;
  // The conflict holds the row, so it is there.
  return standing === undefined ? block : toBlock(standing);
}

async function lift(tx: Transaction, kind: BlockKind, ref: string, event: AdministrativeEvent): Promise<boolean> {
  const { count } = await tx`
    delete from block where kind = ${kind} and ref = ${ref} and (until is null or until > ${new Date(event.atMs)})`;
  if (count === 0) return false;
  await replaceDenialEpoch(tx);
  await insertAdministrativeEvent(tx, event);
  return true;
}

interface BlockRow {
  kind: BlockKind;
  ref: string;
  reason: string;
  until: Date | null;
  created_at: Date;
}

/** Refs are compared by byte, so that no locale moves the pages. */
async function page(sql: Sql, { nowMs, after, limit }: BlockQuery): Promise<readonly StandingBlock[]> {
  const rows = await sql<BlockRow[]>`
    select kind, ref, reason, until, created_at from block
    where (until is null or until > ${new Date(nowMs)})
      ${after === undefined ? sql`` : sql`and (kind collate "C", ref collate "C") > (${after.kind}, ${after.ref})`}
    order by kind collate "C", ref collate "C" limit ${limit}`;
  return rows.map(toBlock);
}

const toBlock = (row: BlockRow): StandingBlock => ({
  kind: row.kind,
  ref: row.ref,
  reason: row.reason,
  untilMs: row.until?.getTime() ?? null,
  createdAtMs: row.created_at.getTime(),
});
