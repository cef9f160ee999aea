import { createMigratedDatabase, startControlPlane, testBearers } from "@svc/test-support";
import { type DecisionVector, type PresentFacts, toQuestion } from "@svc/test-vectors";
import { generatePrivateJwk, type HopClaims, importIssuerKey, issueHopToken, type SigningKey } from "@svc/tokens";
import postgres from "postgres";
import { type Api, createApi } from "./api.ts";

const issuer = "https://issuer.test";
const sub = "ada";

/**
 * A control plane whose state is set in its database: the signing key is the test's, and sessions, denials and marks
 * are inserted, so that every row of the decision tables can be tested over HTTP, also those that no short sequence of
 * requests reaches.
 */
export interface Stage {
  readonly api: Api;
  /** Sets the row's state and returns its session and the caller's token. */
  set(vector: DecisionVector): Promise<{ session: string; token: string }>;
  /** Inserts the allow that an exchange of this row spends, independent of the present verdict. */
  recordAllow(vector: DecisionVector, session: string): Promise<string>;
  stop(): Promise<void>;
}

export async function openStage(manifests: DecisionVector["manifests"], identityRequired: boolean): Promise<Stage> {
  const database = await createMigratedDatabase();
  const jwk = await generatePrivateJwk();
  const key = await importIssuerKey(jwk);
  const controlPlane = await startControlPlane(
    { database },
    {
      SVC_ISSUER: issuer,
      SVC_ISSUER_PRIVATE_KEY: JSON.stringify(jwk),
      SVC_IDENTITY_REQUIRED: String(identityRequired),
    },
  );
  const sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  const api = createApi(controlPlane.url, testBearers);
  for (const [name, manifest] of Object.entries(manifests)) {
    const { status, text } = await api.attest(name, manifest.scopes);
    if (status !== 201) throw new Error(`${name}: ${status} ${text}`);
  }
  let denials = noDenials;
  return {
    api,
    async set(vector) {
      const { session, policyVersion } = await insertSession(sql, vector);
      await setMarks(sql, session, vector.present ?? {});
      denials = await setDenials(sql, denials, vector.present ?? {});
      return { session, token: await tokenOf(key, vector, session, policyVersion) };
    },
    recordAllow: (vector, session) => recordAllow(sql, vector, session),
    async stop() {
      await controlPlane.stop();
      await sql.end();
      await database.drop();
    },
  };
}

async function insertSession(sql: postgres.Sql, { scope, present = {} }: DecisionVector) {
  const [row] = await sql<{ session: string; policyVersion: number }[]>`
    insert into session (session_id, user_sub, scope, policy_version, hop_budget, consented_by, consented_at, expires_at)
    select gen_random_uuid(), ${sub}, scope, max(version), 32, 'test', now() - interval '1 hour',
      now() + ${present.session?.includes("expired") ? "-1 second" : "1 hour"}::interval
    from compiled_policy where scope = ${scope} group by scope
    returning session_id as session, policy_version as "policyVersion"`;
  if (row === undefined) throw new Error(`"${scope}" is compiled`);
  const isRevoked = present.session?.includes("revoked") ?? false;
  await sql`
    insert into session_state (session_id, revoked_at)
    values (${row.session}, ${isRevoked ? new Date() : null})`;
  return row;
}

async function setMarks(sql: postgres.Sql, session: string, present: PresentFacts): Promise<void> {
  const marks: [string | null, string][] = Object.entries(present.marks ?? {});
  if (present.humanMark !== undefined) marks.push([null, present.humanMark]);
  for (const [member, source] of marks) {
    await sql`
      insert into taint_mark (session_id, member, source, action_id, marked_at)
      values (${session}, ${member}, ${source}, gen_random_uuid(), now())`;
  }
}

const noDenials = JSON.stringify([[], {}]);

/** Denials affect all sessions, so each row first removes those of the row before; most rows set none. */
async function setDenials(sql: postgres.Sql, before: string, present: PresentFacts): Promise<string> {
  const { blocks = [], identities = {} } = present;
  const now = JSON.stringify([blocks, identities]);
  if (now === before) return now;
  await sql.begin(async (tx) => {
    await tx`delete from block`;
    await tx`delete from agent_identity`;
    // A revocation is final, which the database enforces: only a test may undo one.
    await tx`alter table revocation disable trigger append_only`;
    await tx`delete from revocation`;
    await tx`alter table revocation enable always trigger append_only`;
    for (const { kind, ref } of blocks) {
      await tx`insert into block (kind, ref, reason, created_at) values (${kind}, ${ref}, 'test', now())`;
    }
    for (const [agent, status] of Object.entries(identities)) await setIdentity(tx, agent, status);
    await tx`update denial_epoch set epoch = gen_random_uuid()`;
  });
  return now;
}

async function setIdentity(tx: postgres.TransactionSql, agent: string, status: string): Promise<void> {
  await tx`
    insert into agent (agent_id, name, created_at) values (gen_random_uuid(), ${agent}, now()) on conflict do nothing`;
  if (status === "revoked") {
    await tx`insert into revocation (agent_id, agent, as_of) select agent_id, name, now() from agent where name = ${agent}`;
  } else if (status !== "none") {
    await tx`
      insert into agent_identity (agent_id, agent, status, anchor_version, as_of)
      select agent_id, name, ${status}, 1, now() from agent where name = ${agent}`;
  }
}

async function tokenOf(key: SigningKey, vector: DecisionVector, sessionId: string, policyVersion: number) {
  const { hop } = toQuestion(vector);
  const now = Math.floor(Date.now() / 1000);
  const actors = [sub, ...vector.chain.slice(0, -1)];
  const act = actors.reduce<HopClaims["act"]>((inner, actor) => ({ sub: actor, ...(inner && { act: inner }) }), null);
  const isRoot = vector.chain.length === 0;
  const claims: HopClaims = {
    iss: issuer,
    sub,
    aud: vector.chain.at(-1) ?? issuer,
    scope: hop.narrowedTo?.join(" ") ?? vector.scope,
    iat: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
    hop: hop.hop,
    act: isRoot ? null : act,
    sessionId,
    policyVersion,
    actionId: isRoot ? null : parentOf(vector),
    taint: hop.tokenTaint,
    targetKind: isRoot ? null : "agent",
    privileged: false,
    renewed: false,
  };
  return issueHopToken(key, claims);
}

const parentOf = (vector: DecisionVector): string | null =>
  vector.chain.length === 0 ? null : "01a00000-0000-7000-8000-00000000000a";

async function recordAllow(sql: postgres.Sql, vector: DecisionVector, session: string): Promise<string> {
  const { hop } = toQuestion(vector);
  const action = crypto.randomUUID();
  await sql`
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, recoverable, enforced, privileged, taint, policy_version, parent_action_id, decided_at)
    values (${action}, 2, ${session}, 'authorize', ${hop.hop}, ${[...vector.chain]}, ${vector.chain.at(-1) ?? sub},
      ${vector.target}, ${vector.targetKind}, ${vector.dataClass}, 'allow', false, true, false, 'trusted_internal', 1,
      ${parentOf(vector)}, now())`;
  return action;
}
