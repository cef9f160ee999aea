import { embeddedGuard } from "@svc/embedded/cache";
import { describe, expect, test } from "vitest";
import { guardSuite } from "./guard-suite.ts";

const shared = embeddedGuard();
guardSuite("embedded guard", () => shared);

describe("the embedded guard", () => {
  test("keeps an entry until it expires, and no longer", async () => {
    let nowMs = 0;
    const guard = embeddedGuard(() => nowMs);
    await guard.claim({ key: "k", actionId: "a", ttlSeconds: 120 });
    nowMs = 119_999;
    expect(await guard.claim({ key: "k", actionId: "b", ttlSeconds: 120 })).toBe("other_action");
    nowMs = 120_000;
    expect(await guard.claim({ key: "k", actionId: "b", ttlSeconds: 120 })).toBe("claimed");
  });

  test("removes expired entries by itself and keeps those claimed again", async () => {
    let nowMs = 0;
    const guard = embeddedGuard(() => nowMs);
    for (let n = 0; n < 1000; n += 1) await guard.claim({ key: `k${n}`, actionId: "a", ttlSeconds: 60 });
    nowMs = 60_000;
    await guard.claim({ key: "k0", actionId: "b", ttlSeconds: 3600 });
    nowMs = 180_000;
    expect(await guard.claim({ key: "k0", actionId: "a", ttlSeconds: 60 })).toBe("other_action");
    expect(guard.size()).toBe(1);
  });
});
