import { randomUUID } from "node:crypto";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import type { ReplayGuard } from "../src/ports/replay-guard.ts";
import type { HighWaterMarkStore } from "../src/ports/restore-watch.ts";

/** What every replay guard promises; run on each of them. */
export function guardSuite(name: string, guard: () => ReplayGuard & HighWaterMarkStore): void {
  const claim = (key: string, actionId: string, ttlSeconds = 60) => guard().claim({ key, actionId, ttlSeconds });

  describe(`${name}: a claim`, () => {
    test("is distinguished from a second one of the same action and from one of another", async () => {
      const key = randomUUID();
      expect(await claim(key, "first")).toBe("claimed");
      expect(await claim(key, "first")).toBe("same_action");
      expect(await claim(key, "second")).toBe("other_action");
      expect(await claim(key, "first")).toBe("same_action");
    });

    test("can have a lifetime with a fraction of a second", async () => {
      expect(await claim(randomUUID(), "action", 60.0625)).toBe("claimed");
    });

    test("of one token does not affect another", async () => {
      await claim(randomUUID(), "action");
      expect(await claim(randomUUID(), "action")).toBe("claimed");
    });

    test("succeeds for exactly one of 64 concurrent actions", async () => {
      const key = randomUUID();
      const outcomes = await Promise.all(Array.from({ length: 64 }, (_, n) => claim(key, `action-${n}`)));
      expect(outcomes.filter((outcome) => outcome === "claimed")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "other_action")).toHaveLength(63);
    });

    test("keeps its lifetime when others are claimed after it", async () => {
      const key = randomUUID();
      await claim(key, "first", 600);
      await claim(key, "second", 1);
      await claim(key, "first", 1);
      const short = randomUUID();
      await claim(short, "first", 1);
      await waitUntil("the short life to end", async () => (await claim(short, "other")) === "claimed");
      expect(await claim(key, "second")).toBe("other_action");
    });
  });

  describe(`${name}: a release`, () => {
    test("frees the token for another action", async () => {
      const key = randomUUID();
      await claim(key, "first");
      await guard().release({ key, actionId: "first" });
      expect(await claim(key, "second")).toBe("claimed");
    });

    test("by another action frees nothing", async () => {
      const key = randomUUID();
      await claim(key, "first");
      await guard().release({ key, actionId: "second" });
      expect(await claim(key, "second")).toBe("other_action");
    });

    test("of an unclaimed token does nothing", async () => {
      await expect(guard().release({ key: randomUUID(), actionId: "first" })).resolves.toBeUndefined();
    });
  });

  describe(`${name}: of a database's witness`, () => {
    test("keeps the highest count of each deployment, in any order", async () => {
      const deployment = randomUUID();
      expect(await guard().seen(deployment)).toBe(0n);
      for (const count of [9n, 10n, 2n]) await guard().keep({ deployment, count });
      expect(await guard().seen(deployment)).toBe(10n);
      expect(await guard().seen(randomUUID())).toBe(0n);
    });

    test("keeps the highest of many concurrent counts", async () => {
      const deployment = randomUUID();
      const counts = Array.from({ length: 32 }, (_, n) => BigInt((n * 13) % 32));
      await Promise.all(counts.map((count) => guard().keep({ deployment, count })));
      expect(await guard().seen(deployment)).toBe(31n);
    });
  });

  test(`${name}: responds to a ping and keeps its entries`, async () => {
    await guard().ping();
    expect(await guard().evictionPolicy()).toBe("keeps");
  });
}
