import type { IdentityStatus } from "@svc/core";
import type { PublicJwk } from "@svc/tokens";
import type { AgentIdentity, Identities } from "../ports/identities.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { listRevocations, revoke, wholeUntil } from "./revocations.ts";

export interface IdentityStoreSettings {
  readonly writer: Sql;
  readonly reader: Sql;
  readonly commitDeadlineMs: number;
  readonly readDeadlineMs: number;
}

export const identityStore = (settings: IdentityStoreSettings): Identities => {
  const { writer, reader, commitDeadlineMs, readDeadlineMs } = settings;
  return {
    byName: (agent) => bounded(readDeadlineMs, findIdentity(reader, reader`a.name = ${agent}`)),
    byId: (agentId) => bounded(readDeadlineMs, findIdentity(reader, reader`a.agent_id = ${agentId}`)),
    revoke: (revocation) =>
      bounded(
        commitDeadlineMs,
        writer.begin(async (tx) => {
          const isNew = await revoke(tx, revocation);
          const identity = await findIdentity(tx, tx`a.agent_id = ${revocation.agentId}`);
          return identity && { identity, isNew };
        }),
      ),
    revocations: (query) => bounded(readDeadlineMs, listRevocations(reader, query)),
    revocationsWholeUntilMs: () => bounded(readDeadlineMs, wholeUntil(reader)),
  };
};

interface IdentityRow {
  agent_id: string;
  name: string;
  status: IdentityStatus;
  anchor_version: number;
  jwk: PublicJwk | null;
  thumbprint: string | null;
  revoked_reason: string | null;
  as_of: Date;
}

/** `as_of` is of whatever came last, so that it never falls although clocks differ. */
async function findIdentity(
  sql: Sql | Transaction,
  which: ReturnType<Sql> | ReturnType<Transaction>,
): Promise<AgentIdentity | undefined> {
  const [row] = await sql<IdentityRow[]>`
    select a.agent_id, a.name, i.jwk, i.thumbprint, r.reason as revoked_reason,
      case when r.agent_id is not null then 'revoked' else coalesce(i.status, 'none') end as status,
      coalesce(i.anchor_version, 0) as anchor_version, greatest(a.created_at, i.as_of, r.as_of) as as_of
    from agent a left join agent_identity i using (agent_id) left join revocation r using (agent_id)
    where ${which}`;
  return row && toIdentity(row);
}

const toIdentity = ({ jwk, thumbprint, ...row }: IdentityRow): AgentIdentity => ({
  agentId: row.agent_id,
  agent: row.name,
  status: row.status,
  anchorVersion: row.anchor_version,
  keys: row.status === "enrolled" && jwk !== null && thumbprint !== null ? [{ kid: thumbprint, publicJwk: jwk }] : [],
  revokedReason: row.revoked_reason,
  asOfMs: row.as_of.getTime(),
});
