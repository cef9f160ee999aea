import { requires, waitUntil } from "@svc/test-support";
import { expect } from "vitest";
import { pairForTests } from "./src/for-tests.ts";
import {
  answersTo,
  kidOf,
  listKeys,
  published,
  publishedBy,
  refusedByAll,
  remove,
  rotate,
  signerOf,
} from "./src/issuer-keys.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";
import { asOwner } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

const { one, other, database } = await pairForTests();
const hops = ledgerHops("books");

describe("rotating the issuer's key", () => {
  test("publishes the next key ten minutes before it signs, at every process, once for repeated requests", async () => {
    const before = await kidOf(one, "active");
    const answers = await Promise.all([rotate(one), rotate(other), rotate(one, {}), rotate(other, { now: false })]);
    const [{ status, body } = { status: 0, body: {} }] = answers;
    expect(status).toBe(200);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(Date.parse(body.activates_at) - Date.now()).toBeGreaterThan(580_000);
    expect(Date.parse(body.activates_at) - Date.now()).toBeLessThanOrEqual(600_000);
    await publishedBy([one, other], before ?? "", body.kid);
    expect(await listKeys(other)).toEqual([
      expect.objectContaining({ kid: before, status: "active", superseded_at: body.activates_at }),
      expect.objectContaining({ kid: body.kid, status: "next", activates_at: body.activates_at, superseded_at: null }),
    ]);
    for (const api of [one, other]) expect(signerOf((await api.consent("books")).token)).toBe(before);
  });

  test("in an emergency makes the next key sign at every process at once, and keeps the last key's tokens valid", async () => {
    const [before, next] = [await kidOf(one, "active"), await kidOf(one, "next")];
    const { session, clerk } = await clerkSession(one, "books");
    const { status, body } = await rotate(one, { now: true });
    expect([status, body.kid]).toEqual([200, next]);
    for (const api of [other, one]) expect(signerOf((await api.consent("books")).token)).toBe(next);
    const { action, token } = await other.hop(session, clerk.token, hops.read);
    expect([signerOf(clerk.token), signerOf(token)]).toEqual([before, next]);
    expect((await one.chain(action)).body.complete).toBe(true);
    expect((await listKeys(other)).map((key) => key.status)).toEqual(["superseded", "active"]);
  });

  test("in an emergency without a next key creates one, which every process accepts at once", async () => {
    const { body } = await rotate(one, { now: true });
    const { session, token } = await one.consent("books");
    expect(signerOf(token)).toBe(body.kid);
    expect((await other.authorize(session, token, hops.planner)).body.decision).toBe("allow");
    expect(await published(other)).toContain(body.kid);
  });

  test("records who rotated it", async () => {
    const { kid } = (await rotate(other, { now: true })).body;
    const events = await asOwner(
      database,
      (sql) => sql`select kind, actor, details from administrative_event where details ->> 'kid' = ${kid}`,
    );
    expect(events).toEqual([
      { kind: "key_rotated", actor: "admin", details: { kid, activates_at: expect.any(String) } },
    ]);
  });

  test.each([
    ["text for now", { now: "yes" }],
    ["an unknown member", { at: 1 }],
  ])("refuses %s", async (_name, body) => {
    const answer = await rotate(one, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("removing an issuer's key", () => {
  test("refuses its tokens at every process at once, and keeps the tokens of other keys valid", async () => {
    const doomed = await one.consent("books");
    // Both processes verify and cache it before its key is removed.
    for (const api of [one, other])
      expect((await api.authorize(doomed.session, doomed.token, hops.planner)).status).toBe(200);
    const kid = signerOf(doomed.token) ?? "";
    await rotate(one, { now: true });
    const spared = await one.consent("books");
    expect((await remove(one, kid)).status).toBe(204);
    for (const api of [other, one]) {
      expect(await answersTo(api, doomed.session, doomed.token, hops.planner)).toEqual(refusedByAll);
      expect((await api.authorize(spared.session, spared.token, hops.planner)).body.decision).toBe("allow");
    }
    await waitUntil("it to be unpublished", async () =>
      (await Promise.all([one, other].map(published))).every((kids) => !kids.includes(kid)),
    );
  });

  test("makes the next key sign", async () => {
    const next: string = (await rotate(one)).body.kid;
    const active = await kidOf(one, "active");
    expect((await remove(other, active ?? "")).status).toBe(204);
    for (const api of [one, other]) expect(signerOf((await api.consent("books")).token)).toBe(next);
    expect(await kidOf(one, "next")).toBeUndefined();
  });

  test("that is the next one keeps the active key signing", async () => {
    const [active, next] = [await kidOf(one, "active"), (await rotate(one)).body.kid];
    await remove(one, next);
    expect(signerOf((await other.consent("books")).token)).toBe(active);
    expect((await listKeys(one)).find(({ kid }) => kid === active)).toMatchObject({
      status: "active",
      superseded_at: null,
    });
  });

  test("and all others creates a new key that signs", async () => {
    const before = await listKeys(one);
    for (const { kid } of before) expect((await remove(one, kid)).status).toBe(204);
    const left = await listKeys(other);
    expect(left).toMatchObject([{ status: "active" }]);
    expect(before.map(({ kid }) => kid)).not.toContain(left[0]?.kid);
    const { session, token } = await other.consent("books");
    expect((await one.authorize(session, token, hops.planner)).body.decision).toBe("allow");
  });

  test("never reactivates a superseded key", async () => {
    const old = await kidOf(one, "active");
    const young: string = (await rotate(one, { now: true })).body.kid;
    await remove(one, young);
    expect([old, young]).not.toContain(signerOf((await one.consent("books")).token));
  });

  test("twice is recorded once; an unknown key is not found", async () => {
    const kid = (await rotate(one)).body.kid;
    expect((await remove(one, kid)).status).toBe(204);
    expect((await remove(other, kid)).status).toBe(204);
    const unknown = await remove(one, "no-such-key");
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "key_not_found"]);
    const [row] = await asOwner(
      database,
      (sql) => sql`
        select sealed_private_jwk,
          (select count(*)::int from administrative_event where kind = 'key_removed' and details ->> 'kid' = ${kid}) as events
        from signing_key where kid = ${kid}`,
    );
    expect(row).toEqual({ sealed_private_jwk: null, events: 1 });
  });

  test("is final for concurrent consents: none that starts later gets a token of it", async () => {
    let removed = false;
    const consents = Array.from({ length: 6 }, async (_, index) => {
      const made: { session: string; token: string; startedAfter: boolean }[] = [];
      do {
        const startedAfter = removed;
        made.push({ ...(await (index % 2 === 0 ? one : other).consent("books")), startedAfter });
      } while (!removed || !made.some(({ startedAfter }) => startedAfter));
      return made;
    });
    const active = (await kidOf(one, "active")) ?? "";
    await remove(one, active);
    removed = true;
    const late = (await Promise.all(consents)).flat().filter(({ startedAfter }) => startedAfter);
    for (const { token } of late) expect(signerOf(token)).not.toBe(active);
  });
});
