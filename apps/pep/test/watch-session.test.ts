import type { Hop, HopPorts, LeaseResult, Transport } from "@svc/hop";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchSession } from "../src/decide/decide-again.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const segment = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
/** A hop token by its shape; issued now. */
function tokenOf({ hop, lifeSeconds }: { hop: number; lifeSeconds: number }): string {
  const iat = Math.floor(Date.now() / 1000);
  const narrowed = hop > 1 ? { act: { sub: "alice" }, action_id: "a", target_kind: "agent", privileged: false } : {};
  const claims = {
    iss: "i",
    sub: "alice",
    aud: hop > 1 ? "planner" : "i",
    scope: "docs",
    hop,
    sid: "s",
    policy_version: 1,
    taint: "trusted_internal",
    jti: "j",
    iat,
    exp: iat + lifeSeconds,
  };
  return [segment({ alg: "ES256", typ: "at+jwt", kid: "k" }), segment({ ...claims, ...narrowed }), "c2ln"].join(".");
}

function watched(lease: () => Promise<LeaseResult>, token = "no token at all", enforced = true) {
  const close = vi.fn();
  const leased = vi.fn(lease);
  const transport: Transport = { send: () => Promise.reject(new Error("not asked here")) };
  const ports: HopPorts = {
    steps: { transport, monotonicMs: () => 0 },
    pool: { lease: leased, size: 0, close: async () => {} },
    limits: { stepMs: 1_000, hopMs: 2_500 },
  };
  const hop: Hop = {
    credential: { sessionId: "s", token },
    call: { target: "t", targetKind: "tool", dataClass: "docs" },
    enforced,
    signal: new AbortController().signal,
    trace: {},
  };
  const stop = watchSession({ hop: ports, limits: { redecideMs: 60_000 }, now: Date.now }, hop, token, close);
  return { close, leased, stop };
}

describe("a long-lived call is closed", () => {
  test.each<[string, () => Promise<LeaseResult>]>([
    ["where its token is refused", async () => ({ kind: "unauthorized" })],
    ["where no decision can be had", async () => ({ kind: "unusable", fault: "timeout" })],
    ["where asking itself fails", () => Promise.reject(new Error("bug"))],
  ])("%s, also in observe mode", async (_name, lease) => {
    for (const enforced of [true, false]) {
      const { close, leased } = watched(lease, undefined, enforced);
      await vi.advanceTimersByTimeAsync(59_999);
      expect(leased).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(close).toHaveBeenCalledOnce();
    }
  });

  test.each([
    ["by the root grant's expiry", { hop: 1, lifeSeconds: 30 }],
    ["by a shorter life than a hop token has", { hop: 2, lifeSeconds: 30 }],
  ])("at the session's end, known %s", async (_name, life) => {
    const { close, leased } = watched(async () => ({ kind: "unauthorized" }), tokenOf(life));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(close).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(close).toHaveBeenCalledOnce();
    expect(leased).not.toHaveBeenCalled();
  });
});

test("a token of full life does not bound the session's end", async () => {
  const { leased } = watched(async () => ({ kind: "unauthorized" }), tokenOf({ hop: 2, lifeSeconds: 60 }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(leased).toHaveBeenCalledOnce();
});

test("after the watch is stopped, close is not called", async () => {
  const { close, stop } = watched(async () => ({ kind: "unauthorized" }));
  stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(close).not.toHaveBeenCalled();
});
