import type { HopLedger, HopOutcome, HopSpend } from "../ports/spend-ledger.ts";
import type { Pool, Sql } from "./database.ts";
import { type Append, insertion } from "./decision-rows.ts";
import { groupCommit } from "./group-commit.ts";
import { rowsLiteral, type Value } from "./row-literals.ts";
import { byteaLiteral, isProofUsed, spendKeysOf, spendValues, whatIsSpent } from "./spends.ts";

export function hopLedger(pool: Pool): HopLedger {
  const insert = groupCommit<HopInsert, Inserted>({
    write: (hops) => insertHops(pool.sql, hops),
    keysOf: ({ spend }) => spendKeysOf(spend),
    deadlineMs: pool.deadlineMs,
  });
  return {
    async take(record, spend, epochs): Promise<HopOutcome> {
      const kind = await insert({ record, spend, epochs });
      return kind === "recorded" ? { kind, used: await pool.run((sql) => whatWasUsed(sql, spend)) } : { kind };
    },
  };
}

/** A decision that allows, to commit under its epochs with the spend of its token. */
export interface HopInsert extends Append {
  readonly spend: HopSpend;
}

type Inserted = HopOutcome["kind"];

/**
 * Inserts, in one statement, each decision whose epochs hold, and from the row that it inserted the spend, of an unused
 * token and proof in a running session. No two rows may share a token or a proof.
 */
export async function insertHops(sql: Sql, hops: readonly HopInsert[]): Promise<readonly Inserted[]> {
  const found = await sql<{ action_id: string; is_spent: boolean }[]>`
    with recorded as (
      ${insertion(sql, hops)} returning action_id, session_id, decision, stage
    ), spent as (
      insert into spend (jti_hash, action_id, session_id, kind, prover, proof_jti_hash, spent_at, sibling_jti_hash)
      select r.jti_hash, d.action_id, d.session_id, 'exchange', r.prover, r.proof_jti_hash, r.spent_at,
        r.sibling_jti_hash
      from unnest(${rowsLiteral(hops.map(toRow))}::text::hop_spend_insert[]) as r
        join recorded d on d.action_id = r.action_id and d.session_id = r.session_id
        join session s on s.session_id = r.session_id
        join session_state st on st.session_id = r.session_id
      where d.decision = 'allow' and d.stage = 'authorize' and st.revoked_at is null and s.expires_at > r.spent_at
      on conflict do nothing
      returning action_id
    )
    select action_id, action_id in (select action_id from spent) as is_spent from recorded`;
  const spent = new Map(found.map(({ action_id, is_spent }) => [action_id, is_spent]));
  return hops.map(({ record }) => {
    const isSpent = spent.get(record.actionId);
    return isSpent === undefined ? "stale" : isSpent ? "spent" : "recorded";
  });
}

/** In the order of the type `hop_spend_insert`. */
const toRow = ({ spend }: HopInsert): readonly Value[] => [...spendValues(spend), byteaLiteral(spend.siblingJtiHash)];

/** The decision was inserted and the spend was not: a unique key conflicts, or the session ended meanwhile. */
async function whatWasUsed(sql: Sql, spend: HopSpend): Promise<"token" | "proof" | "none"> {
  const { token } = await whatIsSpent(sql, spend.sessionId, spend.jtiHash, undefined);
  if (token) return "token";
  return (await isProofUsed(sql, spend)) ? "proof" : "none";
}
