import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { budgets } from "../src/budgets.ts";
import type { Probes } from "../src/commands/readiness.ts";
import { startPlane } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
  // Only a probe that hangs uses the whole time.
  budgets.readiness = 1_000;
});
afterAll(() => plane.stop());

type Check = () => Promise<void>;

const answers: Check = async () => {};
const fails: Check = () => Promise.reject(new Error("password=s3cr3t"));
const hangs: Check = () => new Promise(() => {});
const readyz = (database: Check, cacheStore: Check, draining: Check = answers, restore: Check = answers) => {
  const probes: Probes = new Map([
    ["database", database],
    ["cache_store", cacheStore],
    ["restore", restore],
    ["draining", draining],
  ]);
  return plane.with({ probes }).send("/readyz", { token: "" });
};

describe("readiness", () => {
  test("fails where the table of seals has rows that are not this service's, and says what to do", async () => {
    const { status, json } = await plane.with({ probes: new Map([["seals", fails]]) }).send("/readyz", { token: "" });
    expect([status, json.error?.code, json.details?.failing]).toEqual([503, "audit_unavailable", ["seals"]]);
    expect(json.error?.message).toContain("svc audit verify");
  });

  test.each([
    [null, null],
    [Date.parse("2026-01-31T12:00:00Z"), "2026-01-31T12:00:00.000Z"],
  ])("shows the time of the last housekeeping and of the oldest unsealed row: %s", async (ms, shown) => {
    const app = plane.with({ lastHousekeepingMs: () => ms, oldestUnsealedMs: () => ms });
    expect((await app.send("/readyz", { token: "" })).json).toEqual({
      status: "ok",
      housekeeping: { last_run: shown },
      sealing: { oldest_unsealed: shown },
    });
  });

  test.each<[string, Parameters<typeof readyz>, string, string[]]>([
    ["database fails", [fails, answers], "database_unavailable", ["database"]],
    ["cache store fails", [answers, fails], "guard_unavailable", ["cache_store"]],
    ["both fail", [fails, fails], "database_unavailable", ["database", "cache_store"]],
    ["database hangs", [hangs, answers], "database_unavailable", ["database"]],
    ["cache store hangs", [answers, hangs], "guard_unavailable", ["cache_store"]],
    ["process drains", [answers, answers, fails], "draining", ["draining"]],
    [
      "process drains and the cache store fails",
      [answers, fails, fails],
      "guard_unavailable",
      ["cache_store", "draining"],
    ],
    ["restore is not acknowledged", [answers, answers, answers, fails], "restore_unacknowledged", ["restore"]],
    [
      "restore is not acknowledged and the database fails",
      [fails, answers, answers, fails],
      "database_unavailable",
      ["database", "restore"],
    ],
  ])("is 503 while the %s, and names each failing check", async (_name, probes, code, failing) => {
    const answer = await readyz(...probes);
    expect(answer).toMatchObject({ status: 503, json: { error: { code }, details: { failing } } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.text).not.toContain("s3cr3t");
  });

  test("names the request that acknowledges a restore", async () => {
    const { json } = await readyz(answers, answers, answers, fails);
    expect(json.error?.message).toContain("POST /v1/issuer-epoch");
  });

  test("checks each store once for all concurrent requests, and again for the next", async () => {
    let checks = 0;
    const check = async () => {
      checks++;
    };
    const app = plane.with({ probes: new Map([["database", check]]) });
    await Promise.all(Array.from({ length: 20 }, () => app.send("/readyz")));
    expect(checks).toBe(1);
    await app.send("/readyz");
    expect(checks).toBe(2);
  });
});
