import { randomUUID } from "node:crypto";
import type { SinkName } from "@svc/core";
import { itemsAfter, type RecordReader, type Row, readFeed } from "@svc/seals";
import type { SinkClaim, SinkStatus, Sinks } from "../ports/sinks.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { readAsSealed } from "./seals/batch.ts";
import { readHead, readNextSeal, type SealProof } from "./seals/head.ts";

interface SinkSettings {
  readonly pool: Pool;
  readonly proof: SealProof;
  /** Longer than a delivery takes: a process that is killed delays the next one so long. Default 15 seconds. */
  readonly leaseMs?: number;
}

/** Positions by the database's clock, so that processes agree when a claim ends. */
export function sinks({ pool, proof, leaseMs = 15_000 }: SinkSettings): Sinks {
  const { rows, sql } = pool;
  const holder = randomUUID();
  const after = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`;
  const statusesOf = (sink?: SinkName) => rows<SinkStatus>`
    ${selectStatus(sql)} ${sink === undefined ? sql`` : sql`where name = ${sink}`} order by name`;
  return {
    register: (sink) =>
      pool.transaction(async (tx) => {
        const { head } = await readHead(tx, proof);
        await tx`insert into sink (name, batch) values (${sink}, ${head?.batch ?? 0}) on conflict do nothing`;
      }),
    async claim(sink) {
      const [claimed] = await rows<SinkClaim>`
        update sink set holder = ${holder}, held_until = ${after(leaseMs)}
        where name = ${sink} and (holder = ${holder} or held_until <= now()) and retry_at <= now()
        returning name as sink, batch::float8 as batch, entries, failures`;
      return claimed;
    },
    read: (position) =>
      pool.transaction(async (tx) => {
        const next = await readNextSeal(tx, proof, position.batch);
        if (next === undefined) return undefined;
        const { batch } = next.seal;
        const [stored] = await tx<{ entries: Uint8Array }[]>`select entries from seal where batch = ${batch}`;
        if (stored === undefined) return undefined;
        await readAsSealed(tx);
        return { batch, items: itemsAfter(await readFeed(readerOf(tx), next.seal, stored), position.entries) };
      }),
    async accepted(sink, { batch, entries }) {
      const moved = await rows`
        update sink set batch = ${batch}, entries = ${entries}, held_until = ${after(leaseMs)}, delivered_at = now(),
          failures = 0, failing_since = null, last_error = null
        where name = ${sink} and holder = ${holder}`;
      return moved.count > 0;
    },
    async failed(sink, fault, pauseMs) {
      await rows`
        update sink set failures = failures + 1, failing_since = coalesce(failing_since, now()), last_error = ${fault},
          retry_at = ${after(pauseMs)}, holder = null, held_until = '-infinity'
        where name = ${sink} and holder = ${holder}`;
    },
    async release(sink) {
      await rows`update sink set holder = null, held_until = '-infinity' where name = ${sink} and holder = ${holder}`;
    },
    statuses: () => statusesOf(),
    async replay(sink, sinceMs) {
      const before = (await pool.transaction((tx) => firstSealedSince(tx, proof, sinceMs))) - 1;
      // Without its holder, a delivery under way does not move it forward again.
      await rows`
        update sink set batch = ${before}, entries = 0, holder = null, held_until = '-infinity', retry_at = '-infinity'
        where name = ${sink} and batch >= ${before}`;
      return (await statusesOf(sink))[0];
    },
  };
}

const readerOf = (tx: Transaction): RecordReader => ({
  query: ({ text, values }) => tx.unsafe<Row[]>(text, values, { prepare: true }),
});

/** By halving: a row is sealed after its time, and seals follow each other. */
async function firstSealedSince(tx: Transaction, proof: SealProof, sinceMs: number): Promise<number> {
  let low = 1;
  let high = ((await readHead(tx, proof)).head?.batch ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const seal = (await readNextSeal(tx, proof, middle - 1))?.seal;
    if (seal === undefined || seal.sealedAtMs >= sinceMs) high = middle;
    else low = seal.batch + 1;
  }
  return low;
}

/** An entry has 48 bytes, which begin with the milliseconds of its identifier. A list is stored uncompressed, so parts of it are read. */
const selectStatus = (sql: Sql) => sql`
  select name as sink, s.batch::float8 as batch, s.entries, failures, delivered_at as "deliveredAtMs",
    failing_since as "failingSinceMs", last_error as "lastError",
    case when failures > 0 then nullif(retry_at, '-infinity') end as "retryAtMs",
    coalesce((select sum(octet_length(entries) / 48) from seal where seal.batch > s.batch), 0)::float8 - s.entries
      as undelivered,
    (select ('x' || encode(substring(entries from s.entries * 48 + 1 for 6), 'hex'))::bit(48)::bigint::float8
      from seal where seal.batch > s.batch order by seal.batch limit 1) as "nextAtMs"
  from sink s`;
