import type { Hop, HopPorts, LeaseResult, Transport } from "@svc/hop";
import type { HopClaims } from "@svc/tokens";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchSession } from "../src/decide/decide-again.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Claims of a hop token issued now. */
const claimsOf = ({ hop, lifeSeconds }: { hop: number; lifeSeconds: number }): HopClaims => {
  const iat = Math.floor(Date.now() / 1000);
  return { hop, iat, exp: iat + lifeSeconds } as HopClaims;
};

function watched(lease: () => Promise<LeaseResult>, claims?: HopClaims, enforced = true) {
  const close = vi.fn();
  const leased = vi.fn(lease);
  const transport: Transport = { send: () => Promise.reject(new Error("not asked here")) };
  const ports: HopPorts = {
    steps: { transport, monotonicMs: () => 0 },
    pool: {
      lease: leased,
      leaseToTake: leased,
      leaseToDecide: leased,
      endRenewals() {},
      size: () => 0,
      close: async () => {},
    },
    limits: { stepMs: 1_000, hopMs: 2_500 },
  };
  const hop: Hop = {
    credential: { sessionId: "s", token: "presented" },
    call: { target: "t", targetKind: "tool", dataClass: "docs" },
    enforced,
    bodySettled: true,
    signal: new AbortController().signal,
    trace: {},
  };
  const watch = watchSession({ hop: ports, limits: { redecideMs: 60_000 }, now: Date.now }, hop, claims);
  watch.onEnd(close);
  return { close, leased, watch };
}

const refused = async (): Promise<LeaseResult> => ({ kind: "unauthorized" });

describe("a call under way is ended, with the reason", () => {
  test.each<[string, () => Promise<LeaseResult>, string]>([
    ["where its token is refused", refused, "unauthorized"],
    [
      "where the control plane gives no decision",
      async () => ({ kind: "unusable", fault: "timeout" }),
      "pdp_unreachable",
    ],
    ["where the decision itself fails", () => Promise.reject(new Error("bug")), "other"],
  ])("%s, but not in observe mode", async (_name, lease, cause) => {
    for (const enforced of [true, false]) {
      const { close, leased, watch } = watched(lease, undefined, enforced);
      watch.started();
      await vi.advanceTimersByTimeAsync(59_999);
      expect(leased).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(close.mock.calls).toEqual(enforced ? [[expect.objectContaining({ cause })]] : []);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(leased).toHaveBeenCalledTimes(enforced ? 1 : 2);
      watch.stop();
    }
  });

  test.each([
    ["by the root grant's expiry", { hop: 1, lifeSeconds: 30 }],
    ["by a shorter life than a hop token has", { hop: 2, lifeSeconds: 30 }],
  ])("at the session's end, known %s", async (_name, life) => {
    const { close, leased } = watched(refused, claimsOf(life));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(close).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(close).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ cause: "unauthorized" }));
    expect(leased).not.toHaveBeenCalled();
  });

  test.each([
    ["not sent yet", false, 1],
    ["sent", true, 0],
  ])("at the session's end in observe mode: one that was %s", async (_name, isSent, ends) => {
    const { close, watch } = watched(refused, claimsOf({ hop: 2, lifeSeconds: 30 }), false);
    if (isSent) watch.started();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(close).toHaveBeenCalledTimes(ends);
  });
});

test("a token of full life does not bound the session's end", async () => {
  const { leased } = watched(refused, claimsOf({ hop: 2, lifeSeconds: 60 }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(leased).toHaveBeenCalledOnce();
});

test("after the watch is stopped, close is not called", async () => {
  const { close, watch } = watched(refused);
  watch.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(close).not.toHaveBeenCalled();
});
