import { budgets } from "../budgets.ts";
import type { NewEvent } from "../ports/administrative-event.ts";
import type { EndOfSignIns, NewSignIn, SignIn, SignInChoice, SignIns } from "../ports/sign-ins.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { type Pools, type Sql, type Transaction, waitingUpTo } from "./database.ts";

export const signIns = ({ reader: { rows, sql }, writer }: Pools<"reader" | "writer">): SignIns => ({
  begin: (signIn, event) => writer.transaction((tx) => insert(tx, signIn, event)),
  async running(cookieHash, nowMs) {
    const [found] = await rows<SignIn>`
      select ${columns(sql)} from sign_in
      where cookie_hash = ${cookieHash} and ended_at is null and expires_at > ${new Date(nowMs)}`;
    return found;
  },
  async find(signInId) {
    const [found] = await rows<SignIn>`select ${columns(sql)} from sign_in where sign_in_id = ${signInId}`;
    return found;
  },
  page: ({ subject, after, limit }) => rows<SignIn>`
    select ${columns(sql)} from sign_in
    where ${after === undefined ? sql`true` : sql`sign_in_id < ${after}`}
      ${subject === undefined ? sql`` : sql`and subject = ${subject}`}
    order by sign_in_id desc limit ${limit}`,
  end: (which, end) =>
    writer.within(budgets.emergency).transaction(async (tx) => {
      await waitingUpTo(tx, budgets.emergency);
      return endThose(tx, which, end);
    }),
  recordView: (event) => writer.transaction((tx) => insertAdministrativeEvent(tx, event)),
});

const columns = (sql: Sql) => sql`
  sign_in_id as "signInId", issuer, subject, name, email, groups, id_token_hash as "idTokenHash",
  begun_at as "begunAtMs", expires_at as "expiresAtMs", ended_at as "endedAtMs", ended_by as "endedBy"`;

async function insert(tx: Transaction, signIn: NewSignIn, event: NewEvent): Promise<boolean> {
  const { count } = await tx`
    insert into sign_in (sign_in_id, cookie_hash, issuer, subject, name, email, groups, id_token_hash, begun_at, expires_at)
    values (${signIn.signInId}, ${signIn.cookieHash}, ${signIn.issuer}, ${signIn.subject}, ${signIn.name},
      ${signIn.email}, ${[...signIn.groups]}::text[], ${signIn.idTokenHash}, ${new Date(signIn.begunAtMs)},
      ${new Date(signIn.expiresAtMs)})
    on conflict (sign_in_id) do nothing`;
  if (count === 0) return false;
  await insertAdministrativeEvent(tx, event);
  return true;
}

/** Always in the order of id, so that two calls never wait for each other. */
async function endThose(tx: Transaction, which: SignInChoice, { by, atMs, eventOf }: EndOfSignIns): Promise<number> {
  const chosen =
    "subject" in which
      ? tx`subject = ${which.subject} ${which.issuer === undefined ? tx`` : tx`and issuer = ${which.issuer}`}`
      : tx`sign_in_id = ${which.signInId}`;
  const ended = await tx<Pick<SignIn, "signInId" | "issuer" | "subject">[]>`
    update sign_in set ended_at = ${new Date(atMs)}, ended_by = ${by}
    where sign_in_id = any (array(
      select sign_in_id from sign_in
      where ended_at is null and expires_at > ${new Date(atMs)} and ${chosen} order by sign_in_id for update))
    returning sign_in_id as "signInId", issuer, subject`;
  for (const each of ended) await insertAdministrativeEvent(tx, eventOf(each));
  return ended.length;
}
