import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { TestDatabase } from "@svc/test-support";
import type { Api } from "./api.ts";
import { asOwner } from "./stack.ts";

/** A guarded resource. */
export const guarded = "https://tools.test/ledger";

export interface HeldHandle {
  readonly session: string;
  readonly handle: string;
}

/**
 * An access token of an OAuth client, as rows: of deployments where no person can sign in.
 * `people/client-login.test.ts` has the way of a client.
 */
export async function heldHandle(
  api: Api,
  database: TestDatabase,
  { scope, agent }: { readonly scope: string; readonly agent: string },
): Promise<HeldHandle> {
  const { session } = await api.consent(scope);
  const handle = `svc_at_${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(handle).digest();
  const [grant, begunWith] = [randomUUID(), randomBytes(32)];
  const until = new Date(Date.now() + 600_000);
  await asOwner(database, async (sql) => {
    await sql`
      insert into oauth_grant (grant_id, session_id, agent, client_id, resource, scopes, begun_with, expires_at)
      values (${grant}, ${session}, ${agent}, 'notebook', ${guarded}, ${[scope]}, ${begunWith}, ${until})`;
    await sql`
      insert into oauth_token (token_hash, grant_id, kind, issued_for, expires_at)
      values (${hash}, ${grant}, 'access', ${begunWith}, ${until})`;
  });
  return { session, handle };
}

/** Makes a session that a person consented to beside another one, which the agent holds. */
export async function besideOf(
  api: Api,
  database: TestDatabase,
  { session, agent, scope }: { readonly session: string; readonly agent: string; readonly scope: string },
): Promise<string> {
  const { session: second } = await api.consent(scope);
  const until = new Date(Date.now() + 600_000);
  await asOwner(
    database,
    (sql) => sql`
      insert into session_beside (session_id, beside, family, holder, agent, expires_at)
      values (${second}, ${session}, ${session}, ${agent}, ${agent}, ${until})`,
  );
  return second;
}
