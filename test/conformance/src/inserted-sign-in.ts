import { randomBytes } from "node:crypto";
import type postgres from "postgres";

/** A person's sign-in in the database of a control plane without a provider, for an hour; its id. */
export async function insertSignIn(sql: postgres.Sql, subject = "ada"): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into sign_in
      (sign_in_id, cookie_hash, issuer, subject, name, email, groups, id_token_hash, begun_at, expires_at)
    values (gen_random_uuid(), ${randomBytes(32)}, 'https://idp.test', ${subject}, 'Ada Lovelace', 'ada@people.test',
      '{platform}', 'h', now(), now() + interval '1 hour')
    returning sign_in_id as id`;
  if (row === undefined) throw new Error("nothing was inserted");
  return row.id;
}
