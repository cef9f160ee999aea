import type { Committed, Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/sessions.ts";
import type {
  Exchange,
  Mint,
  MintOutcome,
  Renewal,
  Spend,
  SpendLedger,
  SpendOutcome,
  Spent,
  Uses,
} from "../ports/spend-ledger.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { groupCommit } from "./group-commit.ts";
import { commitMarks } from "./marks.ts";
import { rowsLiteral, type Value } from "./row-literals.ts";

/** Inserts select from the rows of allow and session: no record, no spend (docs/reference/tokens.md#single-use). */
export function spendLedger(pool: Pool): SpendLedger {
  const { sql, deadlineMs } = pool;
  const spendPlain = groupCommit<ExchangeInsert, boolean>({
    write: (inserts) => insertExchanges(sql, inserts),
    keysOf: ({ spend }) => spendKeysOf(spend),
    deadlineMs,
  });
  const insertOnce = async (spend: Spend, marking: Marking, epochs: Epochs): Promise<Committed | false | undefined> => {
    if (spend.kind === "renewal") {
      return (await pool.run(() => insertRenewal(sql, spend, epochs))).count === 1 && { marks: 0 };
    }
    if (marking.kind !== "marks") return (await spendPlain({ spend, epochs })) && { marks: 0 };
    const insert = (tx: Transaction, current: Epochs) => insertExchanges(tx, [{ spend, epochs: current }]);
    return commitMarks(pool, { ...spend, atMs: spend.spentAtMs }, marking, epochs, insert);
  };
  return {
    async spend(spend, marking, epochs) {
      const spent = await insertOnce(spend, marking, epochs);
      return spent ? { kind: "spent", ...spent } : { kind: await pool.run(() => whyNot(sql, spend)) };
    },
    spent: (...query) => pool.run(() => whatIsSpent(sql, ...query)),
    mint: (mint, epochs) => pool.run(() => insertMint(sql, mint, epochs)),
    uses: (...query) => pool.run(() => uses(sql, ...query)),
  };
}

/** Each is unique in the table, so no two rows of one statement may share one. */
export const spendKeysOf = ({ jtiHash, actionId, prover }: Exchange): readonly string[] => [
  `token ${hex(jtiHash)}`,
  `allow ${actionId}`,
  ...(prover === undefined ? [] : [`proof ${hex(prover.proofJtiHash)}`]),
];

/** Nothing was inserted: a unique key conflicts, or the rows it selects from have changed. */
async function whyNot(sql: Sql, spend: Spend): Promise<Exclude<SpendOutcome["kind"], "spent">> {
  const actionId = spend.kind === "exchange" ? spend.actionId : undefined;
  const { token, allow } = await whatIsSpent(sql, spend.sessionId, spend.jtiHash, actionId);
  if (token) return "token_spent";
  if (allow) return "allow_spent";
  return (await isProofUsed(sql, spend)) ? "proof_used" : "stale";
}

const insertRenewal = (sql: Sql, spend: Renewal, epochs: Epochs) => sql`
  insert into spend (jti_hash, session_id, kind, prover, proof_jti_hash, spent_at, renewal_id, actor, agent)
  select ${spend.jtiHash}, s.session_id, 'renewal', ${spend.prover?.agent ?? null},
    ${spend.prover?.proofJtiHash ?? null}, ${new Date(spend.spentAtMs)}, ${spend.renewalId}, ${spend.actor},
    ${spend.agent}
  from session s join session_state st using (session_id) cross join denial_epoch e
  where s.session_id = ${spend.sessionId} and ${runsUnder(sql, epochs, spend.spentAtMs)}
  on conflict do nothing`;

/** Of session `s`, its state `st` and the denial epoch `e`. */
const runsUnder = (sql: Sql, epochs: Epochs, atMs: number) => sql`
  st.revoked_at is null and s.expires_at > ${new Date(atMs)}
    and st.epoch = ${epochs.session} and e.epoch = ${epochs.denials}`;

export async function whatIsSpent(
  sql: Sql,
  sessionId: string,
  jtiHash: Uint8Array,
  actionId: string | undefined,
): Promise<Spent> {
  const [row] = await sql<Spent[]>`
    select exists (select from spend where jti_hash = ${jtiHash} and session_id = ${sessionId}) as token,
      exists (select from spend where action_id = ${actionId ?? null} and session_id = ${sessionId}) as allow`;
  return row ?? { token: true, allow: true };
}

export async function isProofUsed(sql: Sql, { prover }: Pick<Spend, "prover">): Promise<boolean> {
  if (prover === undefined) return false;
  const [row] = await sql<{ used: boolean }[]>`
    select exists (select from spend where proof_jti_hash = ${prover.proofJtiHash})
      or exists (select from mint where proof_jti_hash = ${prover.proofJtiHash}) as used`;
  return row?.used ?? true;
}

async function insertMint(sql: Sql, mint: Mint, epochs: Epochs): Promise<MintOutcome> {
  const { count } = await sql`
    insert into mint (action_id, session_id, params_hash, prover, proof_jti_hash, minted_at)
    select d.action_id, d.session_id, ${mint.paramsHash}, ${mint.prover?.agent ?? null},
      ${mint.prover?.proofJtiHash ?? null}, ${new Date(mint.mintedAtMs)}
    from decision d join spend p using (action_id, session_id) join session s on s.session_id = d.session_id
      join session_state st on st.session_id = d.session_id cross join denial_epoch e
    where d.action_id = ${mint.actionId} and d.session_id = ${mint.sessionId} and d.decision = 'allow' and d.privileged
      and ${runsUnder(sql, epochs, mint.mintedAtMs)}
    on conflict do nothing`;
  if (count === 1) return "minted";
  const { minted } = await uses(sql, mint.sessionId, mint.actionId);
  if (minted) return "already_minted";
  return (await isProofUsed(sql, mint)) ? "proof_used" : "stale";
}

async function uses(sql: Sql, sessionId: string, actionId: string): Promise<Uses> {
  const [row] = await sql<Uses[]>`
    select exists (select from spend where action_id = ${actionId} and session_id = ${sessionId}) as exchanged,
      exists (select from mint where action_id = ${actionId} and session_id = ${sessionId}) as minted`;
  return row ?? { exchanged: false, minted: false };
}

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
  ...spendValues(spend),
  epochs.session,
  epochs.denials,
];

/** What the insert types of spends begin with. */
export const spendValues = (spend: Exchange): readonly Value[] => [
  byteaLiteral(spend.jtiHash),
  spend.actionId,
  spend.sessionId,
  spend.prover?.agent ?? null,
  spend.prover === undefined ? null : byteaLiteral(spend.prover.proofJtiHash),
  new Date(spend.spentAtMs).toISOString(),
];

export const byteaLiteral = (bytes: Uint8Array): string => `\\x${hex(bytes)}`;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
