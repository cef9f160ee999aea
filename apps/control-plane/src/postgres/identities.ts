import { type PublicJwk, readPublicKey, type VerificationKey } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import type { AgentIdentity, AgentKeys, ChangeOfIdentity, Identities, Revocation } from "../ports/identities.ts";
import { recordChangedDenials } from "./administrative-events.ts";
import type { Fragment, Pool, Pools, Sql, Transaction } from "./database.ts";
import type { DenialChanges } from "./denial-changes.ts";

export const identities = (
  { reader: { rows, run, sql } }: Pools<"reader">,
  { change }: Pick<DenialChanges, "change">,
): Identities => ({
  byName: (agent) => run(() => findIdentity(sql, sql`a.name = ${agent}`)),
  byId: (agentId) => run(() => findIdentity(sql, sql`a.agent_id = ${agentId}`)),
  revocations: ({ sinceMs, after, limit }) => rows<Revocation>`
    select agent_id as "agentId", agent, as_of as "asOfMs" from revocation
    where true
      ${sinceMs === undefined ? sql`` : sql`and as_of >= ${new Date(sinceMs)}`}
      ${after === undefined ? sql`` : sql`and (as_of, agent_id) > (${new Date(after.asOfMs)}, ${after.agentId})`}
    order by as_of, agent_id limit ${limit}`,
  /** With no older transaction running. A number beyond the snapshot is of another cluster's backup, long committed. */
  async revocationsWholeUntilMs() {
    const [newest] = await rows<Pick<Revocation, "asOfMs">>`
      select r.as_of as "asOfMs" from revocation r cross join pg_current_snapshot() s
      where r.recorded_in < pg_snapshot_xmin(s) or r.recorded_in >= pg_snapshot_xmax(s)
      order by r.as_of desc limit 1`;
    return newest?.asOfMs ?? 0;
  },
  revoke: (revocation) => changed(change, revocation, revoke),
  liftQuarantine: (lift) => changed(change, lift, liftQuarantine),
});

/** @param act false where nothing was to be changed */
const changed = (
  change: DenialChanges["change"],
  command: ChangeOfIdentity,
  act: (tx: Transaction, command: ChangeOfIdentity) => Promise<boolean>,
) =>
  change(async (tx) => {
    const isNew = await act(tx, command);
    const identity = await findIdentity(tx, tx`a.agent_id = ${command.agentId}`);
    return identity && { identity, isNew };
  });

interface IdentityRow extends Omit<AgentIdentity, "keys"> {
  readonly jwk: PublicJwk | null;
  readonly thumbprint: string | null;
}

/** `as_of` is the greatest of three times, so that it never falls although clocks differ. */
async function findIdentity(sql: Sql | Transaction, condition: Fragment): Promise<AgentIdentity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select a.agent_id as "agentId", a.name as agent, i.jwk, i.thumbprint, r.reason as "revokedReason",
      case when r.agent_id is not null then 'revoked' else coalesce(i.status, 'none') end as status,
      coalesce(i.anchor_version, 0) as "anchorVersion", greatest(a.created_at, i.as_of, r.as_of) as "asOfMs"
    from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
    where ${condition}`;
  if (row === undefined) return undefined;
  const { jwk, thumbprint, ...identity } = row;
  const hasKey = identity.status === "enrolled" && jwk !== null && thumbprint !== null;
  return { ...identity, keys: hasKey ? [{ kid: thumbprint, publicJwk: jwk }] : [] };
}

/**
 * Serializes all changes of identities until the commit: `as_of` rises in the order in which revocations become visible,
 * and no enrollment completes beside a revocation. Call it first, so that transaction numbers rise in the same order.
 */
export async function lockIdentities(tx: Transaction): Promise<void> {
  await tx`select from denial_epoch for update`;
}

/** False if the agent was revoked before, or is unknown. */
async function revoke(tx: Transaction, revocation: ChangeOfIdentity): Promise<boolean> {
  const { agentId, reason, by: actor, onPage, eventId, atMs } = revocation;
  await lockIdentities(tx);
  const [inserted] = await tx<{ agent: string }[]>`
    insert into revocation (agent_id, agent, reason, as_of)
    select agent_id, name, ${reason},
      greatest(date_trunc('milliseconds', clock_timestamp()), (select max(as_of) from revocation))
    from agent where agent_id = ${agentId}
    on conflict do nothing returning agent`;
  if (inserted === undefined) return false;
  const details = { agent_id: agentId };
  await recordChangedDenials(tx, { ...inserted, eventId, kind: "agent_revoked", atMs, actor, reason, details, onPage });
  return true;
}

/** False if the agent is not quarantined, or is revoked. The next enrollment that fails quarantines it again. */
async function liftQuarantine(tx: Transaction, lift: ChangeOfIdentity): Promise<boolean> {
  const { agentId, reason, by: actor, onPage, eventId, atMs } = lift;
  await lockIdentities(tx);
  const [lifted] = await tx<{ agent: string }[]>`
    update agent_identity i set status = 'none', reason = null, as_of = greatest(i.as_of, clock_timestamp())
    where agent_id = ${agentId} and status = 'quarantined'
      and not exists (select from revocation r where r.agent_id = i.agent_id)
    returning agent`;
  if (lifted === undefined) return false;
  const details = { agent_id: agentId };
  await recordChangedDenials(tx, {
    ...lifted,
    eventId,
    kind: "quarantine_lifted",
    atMs,
    actor,
    reason,
    details,
    onPage,
  });
  return true;
}

/** Reads which key is pinned at every call. The key of one thumbprint never changes, so it is imported once. */
export const agentKeys = ({ rows }: Pool): AgentKeys => {
  const imported = new LRUCache<string, VerificationKey>({ max: 10_000 });
  return {
    async keysOf(agent) {
      const [pinned] = await rows<{ readonly jwk: PublicJwk; readonly thumbprint: string }>`
        select i.jwk, i.thumbprint from agent_identity i
        where i.agent = ${agent} and i.status = 'enrolled' and i.jwk is not null
          and not exists (select from revocation r where r.agent_id = i.agent_id)`;
      if (pinned === undefined) return [];
      const known = imported.get(pinned.thumbprint);
      if (known !== undefined) return [known];
      const reading = await readPublicKey(pinned.jwk);
      if (!reading.ok) return [];
      imported.set(pinned.thumbprint, reading.key);
      return [reading.key];
    },
  };
};
