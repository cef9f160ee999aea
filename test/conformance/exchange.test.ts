import { requires } from "@svc/test-support";
import { expect } from "vitest";
import { whenDecided } from "./src/api.ts";
import { pairForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";
import { asOwner } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

const { one, other, database } = await pairForTests();
const hops = ledgerHops("books");

async function allowedRead() {
  const { session, clerk } = await clerkSession(one, "books");
  const decision = await one.authorize(session, clerk.token, hops.read);
  return { session, token: clerk.token, action: decision.body.action_id as string };
}

describe("a token and an allow are spent together once, over two processes", () => {
  test("of 64 parallel exchanges of one token one succeeds and 63 are invalid_grant", async () => {
    const { token, action } = await allowedRead();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        whenDecided(() => (n % 2 === 0 ? one : other).exchange(token, hops.read, action)),
      ),
    );
    const told = answers.map(({ status, body }) => `${status} ${body.error ?? ""}`).sort();
    expect(told).toEqual(["200 ", ...Array(63).fill("400 invalid_grant")]);
  });

  test("one token with two allows is exchanged once", async () => {
    const { session, token, action } = await allowedRead();
    const second = (await one.authorize(session, token, hops.read)).body.action_id;
    const answers = await Promise.all([
      whenDecided(() => one.exchange(token, hops.read, action)),
      whenDecided(() => other.exchange(token, hops.read, second)),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test("one allow with two sibling tokens is exchanged once, and the other sibling stays unspent", async () => {
    const { session, clerk } = await clerkSession(one, "books");
    const [a, b] = (await one.renew(clerk.token, 2)).body.tokens;
    const action = (await one.authorize(session, a, hops.read)).body.action_id;
    const answers = await Promise.all([
      whenDecided(() => one.exchange(a, hops.read, action)),
      whenDecided(() => other.exchange(b, hops.read, action)),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const spare = answers[0]?.status === 200 ? b : a;
    const next = (await one.authorize(session, spare, hops.read)).body.action_id;
    expect((await other.exchange(spare, hops.read, next)).status).toBe(200);
  });
});

test.each([
  [50, 200],
  [61, 400],
])("an allow that was decided %i seconds ago is exchanged with %i", async (seconds, status) => {
  const { token, action } = await allowedRead();
  const aged = crypto.randomUUID();
  await asOwner(
    database,
    (sql) => sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, recoverable, enforced, privileged, taint, policy_version, parent_action_id, decided_at)
      select ${aged}, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind, data_class,
        decision, recoverable, enforced, privileged, taint, policy_version, parent_action_id,
        decided_at - ${`${seconds} seconds`}::interval
      from decision where action_id = ${action}`,
  );
  expect((await other.exchange(token, hops.read, aged)).status).toBe(status);
});
