import { requires } from "@svc/test-support";
import { generatePrivateJwk } from "@svc/tokens";
import { expect } from "vitest";
import { pairForTests } from "./src/for-tests.ts";
import {
  answersTo,
  listKeys,
  publishedBy,
  raiseEpoch,
  refusedByAll,
  remove,
  rotate,
  signerOf,
} from "./src/issuer-keys.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { asOwner, startOne } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

const { one, other, database } = await pairForTests();
const hops = ledgerHops("books");

describe("raising the issuer's epoch after a restore", () => {
  test("refuses every older token, ends every session, and accepts tokens issued right after", async () => {
    const before = await clerkSession(one, "books");
    const narrowed = await one.hop(before.session, before.clerk.token, hops.post);
    const stale = await other.consent("books");
    const kids = (await listKeys(one)).map(({ kid }) => kid);
    const { status, body } = await raiseEpoch(one, { reason: "restored from Monday" });
    const fresh = await other.consent("books");
    expect(status).toBe(200);
    expect(body).toEqual({
      not_before: expect.stringMatching(/\.\d{3}Z$/),
      kid: signerOf(fresh.token),
      revoked: expect.any(Number),
    });
    expect(body.revoked).toBeGreaterThanOrEqual(2);
    expect(kids).not.toContain(body.kid);

    for (const api of [other, one]) {
      expect(await answersTo(api, stale.session, stale.token, hops.planner)).toEqual(refusedByAll);
      expect((await api.authorize(before.session, before.clerk.token, hops.read)).status).toBe(401);
      expect((await api.mint(narrowed.token, narrowed.action, {})).status).toBe(401);
      expect((await api.authorize(fresh.session, fresh.token, hops.planner)).body.decision).toBe("allow");
    }
    await publishedBy([one, other], body.kid);
    for (const { session } of [before, stale]) {
      const read = await one.call("GET", `/v1/sessions/${session}`, { bearer: one.tokens.audit });
      expect(read.body).toMatchObject({
        status: "revoked",
        revoked_by: "admin",
        revoked_reason: "restored from Monday",
      });
    }
    const running = await one.call("GET", "/v1/sessions?status=active", { bearer: one.tokens.audit });
    expect(running.body.data.map(({ session_id }: { session_id: string }) => session_id)).toEqual([fresh.session]);
    const events = await asOwner(
      database,
      (sql) => sql`select actor, reason, details from administrative_event where kind = 'issuer_epoch_raised'`,
    );
    expect(events).toEqual([
      { actor: "admin", reason: "restored from Monday", details: { not_before: body.not_before } },
    ]);
  });

  test("a second time ends the sessions since the first", async () => {
    const { session } = await one.consent("books");
    const { body } = await raiseEpoch(other);
    expect(body.revoked).toBeGreaterThanOrEqual(1);
    const read = await one.call("GET", `/v1/sessions/${session}`, { bearer: one.tokens.audit });
    expect(read.body.revoked_reason).toBe("the issuer epoch was raised");
  });
});

describe("with a configured issuer key", () => {
  test("rotating and removing keys name the setting, and the epoch can still be raised", async () => {
    const jwk = await generatePrivateJwk();
    const { api, stop } = await startOne({ SVC_ISSUER_PRIVATE_KEY: JSON.stringify(jwk) });
    try {
      await registerLedger(api, "books");
      const { session, token } = await api.consent("books");
      const kid = signerOf(token) ?? "";
      expect(await listKeys(api)).toEqual([
        { kid, status: "active", created_at: null, activates_at: null, superseded_at: null },
      ]);
      for (const answer of [await rotate(api), await rotate(api, { now: true }), await remove(api, kid)]) {
        expect([answer.status, answer.body.error.code]).toEqual([409, "issuer_key_configured"]);
        expect(answer.body.error.message).toContain("SVC_ISSUER_PRIVATE_KEY");
      }
      expect((await raiseEpoch(api)).body).toMatchObject({ kid, revoked: 1 });
      expect((await api.authorize(session, token, hops.planner)).body.decision).not.toBe("allow");
      const fresh = await api.consent("books");
      expect((await api.authorize(fresh.session, fresh.token, hops.planner)).body.decision).toBe("allow");
    } finally {
      await stop();
    }
  });
});
