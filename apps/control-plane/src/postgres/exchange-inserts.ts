import type { Epochs } from "../ports/session-state.ts";
import type { Exchange } from "../ports/spend-ledger.ts";
import type { Sql, Transaction } from "./database.ts";
import { rowsLiteral, type Value } from "./row-literals.ts";

/** A spend to commit under the epochs of its decision. */
export interface ExchangeInsert {
  readonly spend: Exchange;
  readonly epochs: Epochs;
}

/**
 * Inserts, in one statement, each spend with a recorded allow, a running session, current epochs, and an unused token,
 * allow and proof; returns for each whether it did. No two rows may share one of these three. Each allow is looked up
 * alone, so that only its month is read; the bounds of all allows let the server skip other months at its start.
 */
export async function insertExchanges(
  sql: Sql | Transaction,
  inserts: readonly ExchangeInsert[],
): Promise<readonly boolean[]> {
  const actionIds = inserts.map(({ spend }) => spend.actionId).toSorted();
  const [first = null, last = first] = [actionIds[0], actionIds.at(-1)];
  const inserted = await sql<{ action_id: string }[]>`
    insert into spend (jti_hash, action_id, session_id, kind, prover, proof_jti_hash, spent_at)
    select r.jti_hash, d.action_id, d.session_id, 'exchange', r.prover, r.proof_jti_hash, r.spent_at
    from unnest(${rowsLiteral(inserts.map(toRow))}::text::exchange_insert[]) as r
      cross join lateral (
        select action_id, session_id, decision, stage from decision
        where action_id = r.action_id and action_id between ${first} and ${last} limit 1
      ) d
      join session s on s.session_id = r.session_id
      join session_state st on st.session_id = r.session_id and st.epoch = r.session_epoch
      join denial_epoch e on e.epoch = r.denial_epoch
    where d.session_id = r.session_id and d.decision = 'allow' and d.stage = 'authorize' and st.revoked_at is null
      and s.expires_at > r.spent_at
    on conflict do nothing
    returning action_id`;
  const ids = new Set(inserted.map(({ action_id }) => action_id));
  return inserts.map(({ spend }) => ids.has(spend.actionId));
}

/** In the order of the type `exchange_insert`. */
const toRow = ({ spend, epochs }: ExchangeInsert): readonly Value[] => [
  byteaLiteral(spend.jtiHash),
  spend.actionId,
  spend.sessionId,
  spend.prover?.agent ?? null,
  spend.prover === undefined ? null : byteaLiteral(spend.prover.proofJtiHash),
  new Date(spend.spentAtMs).toISOString(),
  epochs.session,
  epochs.denials,
];

const byteaLiteral = (bytes: Uint8Array): string => `\\x${hex(bytes)}`;

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
