import type { StandingBlock } from "@svc/core";
import type { Blocks } from "../ports/blocks.ts";
import { recordChangedDenials } from "./administrative-events.ts";
import type { Pools, Sql, Transaction } from "./database.ts";
import type { DenialChanges } from "./denial-changes.ts";

const blockColumns = (sql: Sql | Transaction) =>
  sql`kind, ref, reason, until as "untilMs", created_at as "createdAtMs"`;

export const blocks = (
  { reader: { rows, sql } }: Pools<"reader">,
  { change }: Pick<DenialChanges, "change">,
): Blocks => ({
  /** Compares refs by byte, so that no locale changes the pages. */
  page: ({ nowMs, after, limit }) => rows<StandingBlock>`
    select ${blockColumns(sql)} from block
    where (until is null or until > ${new Date(nowMs)})
      ${after === undefined ? sql`` : sql`and (kind collate "C", ref collate "C") > (${after.kind}, ${after.ref})`}
    order by kind collate "C", ref collate "C" limit ${limit}`,
  async find({ kind, ref }, nowMs) {
    const [found] = await rows<StandingBlock>`
      select ${blockColumns(sql)} from block
      where kind = ${kind} and ref = ${ref} and (until is null or until > ${new Date(nowMs)})`;
    return found;
  },
  /** A lapsed block is replaced and gets a new `created_at`. */
  set: (block, event) =>
    change(async (tx) => {
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
        await recordChangedDenials(tx, event);
        return changed;
      }
      const [standing] = await tx<StandingBlock[]>`
        select ${blockColumns(tx)} from block where kind = ${kind} and ref = ${ref}`;
      // The conflict locked the row, so it exists.
      return standing ?? block;
    }),
  lift: (kind, ref, event) =>
    change(async (tx) => {
      const { count } = await tx`
        delete from block where kind = ${kind} and ref = ${ref} and (until is null or until > ${new Date(event.atMs)})`;
      if (count > 0) await recordChangedDenials(tx, event);
      return count > 0;
    }),
});
