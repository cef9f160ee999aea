import type { Committed, Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/session-state.ts";
import type {
  Exchange,
  Mint,
  MintOutcome,
  Renewal,
  Spend,
  SpendLedger,
  SpendOutcome,
  Spent,
} from "../ports/spend-ledger.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { type ExchangeInsert, hex, insertExchanges } from "./exchange-inserts.ts";
import { groupCommit } from "./group-commit.ts";
import { Stale, setMarks, staleIfRolledBack } from "./marks.ts";

/**
 * Inserts select from the rows of the allow and the session: no record, no spend (docs/reference/tokens.md#single-use).
 */
export function spendLedger(pool: Pool): SpendLedger {
  const { sql, deadlineMs } = pool;
  const spendPlain = groupCommit<ExchangeInsert, boolean>({
    write: (inserts) => insertExchanges(sql, inserts),
    keysOf: ({ spend }) => keysOf(spend),
    deadlineMs,
  });
  const insertOnce = async (spend: Spend, marking: Marking, epochs: Epochs): Promise<Committed | false> => {
    if (spend.kind === "renewal") {
      return (await pool.run(() => insertRenewal(sql, spend, epochs))).count === 1 && { marks: 0 };
    }
    if (marking.kind !== "marks") return (await spendPlain({ spend, epochs })) && { marks: 0 };
    return pool.transaction((tx) => spendMarking(tx, { spend, epochs }, marking)).catch(falseIfRolledBack);
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

function falseIfRolledBack(error: unknown): false {
  staleIfRolledBack(error);
  return false;
}

/** Each is unique in the table, so no two rows of one statement may share one. */
const keysOf = ({ jtiHash, actionId, prover }: Exchange): readonly string[] => [
  `token ${hex(jtiHash)}`,
  `allow ${actionId}`,
  ...(prover === undefined ? [] : [`proof ${hex(prover.proofJtiHash)}`]),
];

async function spendMarking(
  tx: Transaction,
  { spend, epochs }: ExchangeInsert,
  marking: Extract<Marking, { kind: "marks" }>,
): Promise<Committed> {
  const set = await setMarks(tx, { ...spend, atMs: spend.spentAtMs }, marking, epochs);
  const [isInserted] = await insertExchanges(tx, [{ spend, epochs: set.epochs }]);
  if (!isInserted) throw new Stale();
  return { marks: set.marks };
}

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
  where s.session_id = ${spend.sessionId}
    and st.revoked_at is null and s.expires_at > ${new Date(spend.spentAtMs)}
    and st.epoch = ${epochs.session} and e.epoch = ${epochs.denials}
  on conflict do nothing`;

async function whatIsSpent(
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

async function isProofUsed(sql: Sql, { prover }: Pick<Spend, "prover">): Promise<boolean> {
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
      and st.revoked_at is null and s.expires_at > ${new Date(mint.mintedAtMs)}
      and st.epoch = ${epochs.session} and e.epoch = ${epochs.denials}
    on conflict do nothing`;
  if (count === 1) return "minted";
  const { minted } = await uses(sql, mint.sessionId, mint.actionId);
  if (minted) return "already_minted";
  return (await isProofUsed(sql, mint)) ? "proof_used" : "stale";
}

async function uses(sql: Sql, sessionId: string, actionId: string): Promise<{ exchanged: boolean; minted: boolean }> {
  const [row] = await sql<{ exchanged: boolean; minted: boolean }[]>`
    select exists (select from spend where action_id = ${actionId} and session_id = ${sessionId}) as exchanged,
      exists (select from mint where action_id = ${actionId} and session_id = ${sessionId}) as minted`;
  return row ?? { exchanged: false, minted: false };
}
