import { settled } from "@svc/test-support/test-time";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budget, setUp, tokenOf } from "./support/pool-set-up.ts";
import type { Fate } from "./support/simulated-plane.ts";

describe("lost requests and responses", () => {
  const fates = fc.constantFrom<Fate>(
    "answered",
    "request_lost",
    "answer_lost",
    "refused_connect",
    "guard_unavailable",
  );
  const steps = fc.array(
    fc.oneof(
      fc.record({
        do: fc.constant("calls" as const),
        by: fc.constantFrom("lease" as const, "leaseToTake" as const, "leaseToDecide" as const),
        count: fc.integer({ min: 1, max: 12 }),
        end: fc.constantFrom("spend" as const, "replace" as const, "give back" as const),
      }),
      fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
      fc.record({ do: fc.constant("toggle readiness" as const) }),
    ),
    { maxLength: 15 },
  );

  test("no jti is presented twice after a lost, refused or returned token", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("root", "agent"), steps, fc.array(fates), async (kind, script, wire) => {
        // A pool that idled out is forgotten, and with it that its token was presented: the control plane refuses that one.
        const { time, plane, pool } = setUp({ idleSeconds: 100_000 });
        plane.fateOf = () => wire.shift() ?? "answered";
        const presented = await plane.issue(kind);
        for (const step of script) {
          if (step.do === "wait") await time.advance(step.ms);
          else if (step.do === "toggle readiness") plane.isReady = !plane.isReady;
          else {
            const calls = Array.from({ length: step.count }, () => pool[step.by](presented, budget));
            await settled();
            await time.advance(1_000);
            for (const result of await Promise.all(calls)) {
              if (result.kind !== "leased") continue;
              const { lease } = result;
              // Until its decision is over no other call has spent it.
              expect(plane.spent).not.toContain(decodeUnverifiedHopToken(lease.token)?.jti);
              const isSpent = step.end !== "give back" && lease.maySpend;
              const sibling = isSpent ? await plane.takeHop(lease.token) : undefined;
              if (!isSpent) lease.giveBack();
              else if (sibling && step.end === "replace") lease.replace(sibling);
            }
          }
        }
        await pool.close();
        expect(plane.presentedAgain).toEqual([]);
        expect(time.pendingTimers).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("one loss after the first renewal never ends the session, however many calls are concurrent", async () => {
    const calm = fc.integer({ min: 1, max: 6 });
    const losses = fc.array(fc.tuple(calm, fc.constantFrom<Fate>("request_lost", "answer_lost")), { maxLength: 10 });
    const bursts = fc.array(
      fc.record({ calls: fc.integer({ min: 1, max: 12 }), waitMs: fc.integer({ min: 0, max: 20_000 }) }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(losses, bursts, async (plan, script) => {
        const wire = plan.flatMap(([answered, fate]): Fate[] => [...Array<Fate>(answered).fill("answered"), fate]);
        const { time, plane, pool } = setUp();
        plane.fateOf = () => wire.shift() ?? "answered";
        const presented = await plane.issue("agent");
        for (const { calls, waitMs } of script) {
          const leases = Array.from({ length: calls }, () => pool.lease(presented, budget));
          for (const result of await Promise.all(leases)) expect(plane.exchange(tokenOf(result))).toBe(true);
          await time.advance(waitMs);
        }
        expect(plane.presentedAgain).toEqual([]);
        await pool.close();
      }),
    );
  });

  test("renewals in quick succession do not stop later ones: calls continue after the tokens' minute", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    for (const { calls, waitMs } of [
      { calls: 3, waitMs: 695 },
      { calls: 1, waitMs: 4_513 },
      { calls: 1, waitMs: 19_999 },
      { calls: 1, waitMs: 17_280 },
      { calls: 1, waitMs: 15_013 },
      { calls: 1, waitMs: 0 },
    ]) {
      const leases = await Promise.all(Array.from({ length: calls }, () => pool.lease(presented, budget)));
      for (const lease of leases) expect(plane.exchange(tokenOf(lease))).toBe(true);
      await time.advance(waitMs);
    }
    await pool.close();
  });

  test("a stalled control plane costs one token, not one per attempt", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    tokenOf(await pool.lease(presented, budget));
    let attempts = 0;
    plane.isReady = false;
    plane.fateOf = () => {
      attempts += 1;
      return "request_lost";
    };
    await time.advance(40_000);
    expect(attempts).toBe(1);
    plane.isReady = true;
    plane.fateOf = () => "answered";
    await time.advance(6_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("a lost reserved token is renewed before the next one can be lost", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    for (let call = 0; call < 2; call += 1) tokenOf(await pool.lease(presented, budget));
    for (let loss = 0; loss < 2; loss += 1) {
      plane.fateOf = () => {
        plane.isReady = false;
        return "answer_lost";
      };
      while ((await pool.lease(presented, budget)).kind === "leased");
      plane.isReady = true;
      plane.fateOf = () => "answered";
      await time.advance(6_000);
    }
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("a refused connect spends nothing: the presented token works afterwards", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.fateOf = () => "refused_connect";
    for (let call = 0; call < 5; call += 1) {
      expect(await pool.lease(presented, budget)).toMatchObject({ kind: "unusable", fault: "refused" });
    }
    plane.fateOf = () => "answered";
    await time.advance(6_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test.each([
    [400, "invalid_proof", true],
    [429, "rate_limited", true],
    [503, "database_unavailable", true],
    [403, "some_proxy", false],
    [500, "internal", false],
    [503, undefined, false],
  ])("after a %i %s the presented token is used again: %s", async (status, code, want) => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.refusal = { kind: "unusable", fault: "status", response: { status, ...(code && { code }) } };
    expect(await pool.lease(presented, budget)).toMatchObject({
      kind: "unusable",
      fault: "status",
      response: { status },
    });
    plane.refusal = undefined;
    await time.advance(6_000);
    expect((await pool.lease(presented, budget)).kind).toBe(want ? "leased" : "unauthorized");
  });

  test("a renewal without a proof that is accepted is unauthorized, spends nothing, and keeps every token", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    const response = { status: 400, code: "invalid_request" };
    plane.refusal = { kind: "proof_refused", response };
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized", response });
    plane.refusal = undefined;
    await time.advance(6_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("after a 429 nothing is renewed before the time that the control plane asks for", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    const response = { status: 429, code: "rate_limited", retryAfter: "30" };
    plane.refusal = { kind: "unusable", fault: "status", response };
    let attempts = 0;
    plane.fateOf = () => {
      attempts += 1;
      return "answered";
    };
    expect(await pool.lease(presented, budget)).toMatchObject({ response });
    await time.advance(29_000);
    expect(await pool.lease(presented, budget)).toMatchObject({ response });
    expect(attempts).toBe(1);
    plane.refusal = undefined;
    await time.advance(1_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("where the only token's renewal is lost, the call gets the fault and later calls are unauthorized", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.fateOf = () => "answer_lost";
    expect(await pool.lease(presented, budget)).toMatchObject({ kind: "unusable", fault: "timeout" });
    plane.fateOf = () => "answered";
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.presentedAgain).toEqual([]);
  });
});
