import { settled } from "@svc/test-support/test-time";
import { describe, expect, test } from "vitest";
import { budget, callWith, setUp, tokenOf } from "./support/pool-set-up.ts";

describe("a renewal refused on its merits", () => {
  const refused = (denyReason: "SESSION_REVOKED" | "AGENT_QUARANTINED") =>
    ({ kind: "refused", denyReason, response: { status: 403, code: "renewal_refused" } }) as const;

  test.each(["SESSION_REVOKED", "AGENT_QUARANTINED"] as const)(
    "%s: every call gets an unspent token, so that its deny is recorded",
    async (reason) => {
      const { plane, pool } = setUp();
      const presented = await plane.issue("root");
      plane.refusal = refused(reason);
      const calls = Array.from({ length: 10 }, async () => {
        const result = await pool.lease(presented, budget);
        const token = tokenOf(result);
        await settled();
        if (result.kind === "leased") result.lease.giveBack();
        return token;
      });
      expect(new Set(await Promise.all(calls))).toEqual(new Set([presented.token]));
    },
  );

  test("finally: nothing is renewed again, and after expiry calls are unauthorized", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    tokenOf(await pool.lease(presented, budget));
    let asked = 0;
    plane.refusal = refused("SESSION_REVOKED");
    plane.fateOf = () => {
      asked += 1;
      return "answered";
    };
    await time.advance(50_000);
    expect(asked).toBe(1);
    const denied = await pool.lease(presented, budget);
    expect(denied.kind).toBe("leased");
    if (denied.kind === "leased") denied.lease.giveBack();
    await time.advance(20_000);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
  });

  test("temporarily: afterwards calls succeed, and the presented token was not spent", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.refusal = refused("AGENT_QUARANTINED");
    const denied = await pool.lease(presented, budget);
    if (denied.kind === "leased") denied.lease.giveBack();
    plane.refusal = undefined;
    for (let call = 0; call < 20; call += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(1_000);
    }
    expect(plane.presentedAgain).toEqual([]);
  });

  test("temporarily: the last unspent token is read by later calls, and not spent", async () => {
    const started = setUp();
    const { plane, pool } = started;
    const presented = await plane.issue("root");
    plane.refusal = refused("AGENT_QUARANTINED");
    const denied = await pool.lease(presented, budget);
    if (denied.kind === "leased") denied.lease.giveBack();
    plane.refusal = undefined;
    for (const purpose of ["leaseToDecide", "leaseToTake"] as const) {
      const read = await pool[purpose](presented, budget);
      expect(read).toMatchObject({ kind: "leased", lease: { token: presented.token, maySpend: false } });
      if (read.kind === "leased") read.lease.giveBack();
    }
    for (let n = 0; n < 3; n += 1) await callWith(started, presented, n > 0);
    expect(plane.presentedAgain).toEqual([]);
  });

  test("temporarily: while no call waits, it is repeated once a second at most", async () => {
    const { time, plane, pool } = setUp();
    let attempts = 0;
    plane.refusal = refused("AGENT_QUARANTINED");
    plane.fateOf = () => {
      attempts += 1;
      return "answered";
    };
    const denied = await pool.lease(await plane.issue("root"), budget);
    if (denied.kind === "leased") denied.lease.giveBack();
    await settled();
    expect(attempts).toBe(1);
    await time.advance(5_000);
    expect(attempts).toBeLessThanOrEqual(6);
  });
});

describe("the tokens of a session or an agent that is over, by a pushed act", () => {
  /** A pool that has renewed, and one of another presented token. */
  async function twoPools(setup: ReturnType<typeof setUp>) {
    const { plane, pool } = setup;
    const [ended, other] = [await plane.issue("agent"), await plane.issue("agent")];
    for (const each of [ended, other]) plane.exchange(tokenOf(await pool.lease(each, budget)));
    return { ended, other };
  }

  test("are renewed no more, whether a call waits, time passes or the act comes again; others are", async () => {
    const setup = setUp();
    const { time, plane, pool } = setup;
    const { ended, other } = await twoPools(setup);
    let renewals = 0;
    plane.fateOf = () => {
      renewals += 1;
      return "answered";
    };
    for (let n = 0; n < 3; n += 1) pool.endRenewals(({ token }) => token === ended.token);
    for (let n = 0; n < 5; n += 1) {
      const left = await pool.lease(ended, budget);
      if (left.kind === "leased") left.lease.giveBack();
      await time.advance(1_000);
    }
    expect(renewals).toBe(0);
    await time.advance(60_000);
    expect(await pool.lease(ended, budget)).toEqual({ kind: "unauthorized" });
    expect(renewals).toBeGreaterThan(0);
    expect((await pool.lease(other, budget)).kind).toBe("leased");
  });

  test("serve the calls that wait for a renewal under way, one after the other", async () => {
    const setup = setUp();
    const { time, plane, pool } = setup;
    const { ended } = await twoPools(setup);
    const before = plane.renewals.length;
    const calls = Array.from({ length: 4 }, async () => {
      const result = await pool.lease(ended, budget);
      if (result.kind === "leased") result.lease.giveBack();
      return result.kind;
    });
    pool.endRenewals(() => true);
    expect(await Promise.all(calls)).toEqual(["leased", "leased", "leased", "leased"]);
    await time.advance(40_000);
    await pool.lease(ended, budget);
    expect(plane.renewals.length - before).toBe(1);
  });
});
