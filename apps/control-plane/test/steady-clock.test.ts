import { aManifest, aTool } from "@svc/test-support";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifySubject as verifyToken } from "../src/commands/hop/hop-tokens.ts";
import { steadyClock } from "../src/start/steady-clock.ts";
import { startPlane } from "./support.ts";

const hourMs = 3_600_000;

/** A wall clock that a test sets. */
function settable(startMs: number) {
  let elapsedMs = 0;
  let setByMs = 0;
  const setBacks: number[] = [];
  const clock = steadyClock({
    wallMs: () => Math.floor(startMs + elapsedMs + setByMs),
    monotonicMs: () => elapsedMs,
    onSetBack: () => setBacks.push(elapsedMs),
  });
  return {
    clock,
    setBacks,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    set: (ms: number) => {
      setByMs += ms;
    },
  };
}

describe("a steady clock", () => {
  test("equals a wall clock that is never set", () => {
    const { clock, pass, setBacks } = settable(1_000_000);
    for (let passed = 0; passed < 5_000; passed += 7) {
      expect(clock.nowMs()).toBe(1_000_000 + passed);
      pass(7);
    }
    expect(setBacks).toEqual([]);
  });

  test("follows a clock that is set forward, continues when it is set back, and reports that once", () => {
    const { clock, pass, set, setBacks } = settable(0);
    pass(1_000);
    set(hourMs);
    expect(clock.nowMs()).toBe(hourMs + 1_000);
    set(-hourMs);
    pass(500);
    expect(clock.nowMs()).toBe(hourMs + 1_500);
    pass(500);
    expect(clock.nowMs()).toBe(hourMs + 2_000);
    expect(setBacks).toEqual([1_500]);
    set(hourMs);
    expect(clock.nowMs()).toBe(hourMs + 2_000);
    set(-hourMs);
    clock.nowMs();
    expect(setBacks).toEqual([1_500, 2_000]);
  });

  test("never goes back, and waits a second at most, for any wall clock", () => {
    const acts = fc.array(
      fc.record({
        pass: fc.double({ min: 0, max: 5_000, noNaN: true }),
        set: fc.integer({ min: -2 * hourMs, max: 2 * hourMs }),
      }),
    );
    fc.assert(
      fc.property(acts, (steps) => {
        const { clock, pass, set } = settable(10 * hourMs);
        let before = clock.nowMs();
        for (const step of steps) {
          pass(step.pass);
          set(step.set);
          const now = clock.nowMs();
          expect(now).toBeGreaterThanOrEqual(Math.max(before, before + Math.floor(step.pass) - 1_001));
          before = now;
        }
      }),
    );
  });

  /** Time passes at any read of a clock, as where the process is interrupted there. */
  const interruptions = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 60_000, noNaN: true })), {
    minLength: 1,
  });

  test("is never ahead of the wall clock, wherever the process is interrupted, and never behind its call", () =>
    fc.assert(
      fc.property(interruptions, fc.integer({ min: 1, max: 50 }), (pauses, reads) => {
        let elapsedMs = 0;
        let nextPause = 0;
        let setBacks = 0;
        const interrupted = () => {
          elapsedMs += pauses[nextPause++ % pauses.length] ?? 0;
        };
        const read = (clockMs: () => number) => () => {
          interrupted();
          const shownMs = clockMs();
          interrupted();
          return shownMs;
        };
        const wallMs = () => Math.floor(1_000_000 + elapsedMs);
        const clock = steadyClock({
          wallMs: read(wallMs),
          monotonicMs: read(() => elapsedMs),
          onSetBack: () => setBacks++,
        });
        for (let times = 0; times < reads; times++) {
          const calledAtMs = wallMs();
          const now = clock.nowMs();
          expect(now).toBeLessThanOrEqual(wallMs());
          expect(now).toBeGreaterThanOrEqual(calledAtMs);
        }
        expect(setBacks).toBe(0);
      }),
    ));

  test("waits for a wall clock that is set back by less than a second", () => {
    const { clock, pass, set, setBacks } = settable(10_000);
    set(-400);
    pass(1_000);
    expect(clock.nowMs()).toBe(10_600);
    set(-400);
    expect(clock.nowMs()).toBe(10_600);
    pass(399);
    expect(clock.nowMs()).toBe(10_600);
    pass(11);
    expect(clock.nowMs()).toBe(10_610);
    expect(setBacks).toEqual([]);
  });
});

test("what has expired stays expired when the clock is set back by an hour", async () => {
  const plane = await startPlane();
  try {
    const { clock, pass, set } = settable(Date.now());
    const verifySubject = (token: string) => verifyToken({ ...plane.deps, clock }, token);
    const app = plane.with({ clock, verifySubject });
    const manifest = aManifest("expenses", { hop_budget: 2, tools: [aTool("http:ledger/read")] });
    await app.send("/v1/agents", { body: { name: "planner", manifest, override: {} } });
    const { json } = await app.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada", ttl_seconds: 60 } });
    const ask = async () => {
      const call = {
        session_id: json.session_id,
        target: "http:ledger/read",
        target_kind: "tool",
        data_class: "finance.entries",
      };
      const decision = await app.send("/v1/authorize", { token: String(json.root_grant), body: call });
      const session = await app.send(`/v1/sessions/${json.session_id}`);
      return [decision.status, session.json.status];
    };
    expect(await ask()).toEqual([200, "active"]);
    pass(60_001);
    expect(await ask()).toEqual([401, "expired"]);
    set(-hourMs);
    expect(await ask()).toEqual([401, "expired"]);
  } finally {
    await plane.stop();
  }
});
