import postgres from "postgres";

/** The naive reference's tables: no partitions, no append-only triggers, no marks. */
export async function createReferenceSchema(
  url: string,
  session: { readonly sessionId: string; readonly tools: readonly object[] },
): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(`
      create table reference_session (session_id uuid primary key, scope text, policy_version int, expires_at timestamptz,
        revoked_at timestamptz);
      create table reference_policy (scope text, version int, document jsonb, primary key (scope, version));
      create table reference_revocation (agent text primary key);
      create table reference_decision (action_id uuid primary key, session_id uuid, acting_agent text, target text,
        data_class text, hop int, decision text, decided_at timestamptz);
      create table reference_spend (jti text primary key, action_id uuid unique);`);
    await sql`insert into reference_session values (${session.sessionId}, 'bench', 1, now() + interval '1 day', null)`;
    await sql`insert into reference_policy values ('bench', 1, ${sql.json({ tools: session.tools as never })})`;
  } finally {
    await sql.end();
  }
}
