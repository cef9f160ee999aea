import { describe, expect, test } from "vitest";
import { fakePorts, fakeReads, Refused, visitor } from "./fake-ports.ts";

/** Reads that all throw. */
const failing = (error: Error) =>
  Object.fromEntries(
    Object.keys(fakeReads()).map((name) => [
      name,
      async () => {
        throw error;
      },
    ]),
  ) as unknown as ReturnType<typeof fakeReads>;

const paths = [
  "/console",
  "/console/decisions",
  "/console/actions/any",
  "/console/would-block",
  "/console/scopes",
  "/console/scope?name=expenses",
  "/console/agents",
  "/console/agents/planner",
  "/console/sessions",
  "/console/sessions/any",
  "/console/denials",
];

test.each(paths)("%s is 503 with a remedy while the database is down", async (path) => {
  const down = new Refused("database_unavailable", 503, { "Retry-After": "1" });
  const page = await visitor({ reads: failing(down) }).look(path);
  expect(page.status).toBe(503);
  expect(page.headers.get("retry-after")).toBe("1");
  expect(page.text).toContain("Database unavailable");
  expect(page.text).toContain("DATABASE_URL");
});

test("an unforeseen error is 500 without its cause, and is reported", async () => {
  const reported: unknown[] = [];
  const cause = new Error("secret-of-the-cause");
  const { refusalOf } = fakePorts();
  const page = await visitor({
    reads: failing(cause),
    refusalOf(thrown) {
      reported.push(thrown);
      return refusalOf(thrown);
    },
  }).look("/console/decisions");
  expect(page.status).toBe(500);
  expect(page.text).not.toContain("secret-of-the-cause");
  expect(reported).toEqual([cause]);
});

test.each([
  ["/console/actions/any", "action"],
  ["/console/sessions/any", "session"],
  ["/console/agents/any", "agent"],
  ["/console/scope?name=any", "scope"],
])("%s is 404 and links to the list where nothing has this name", async (path, what) => {
  const page = await visitor().look(path);
  expect(page.status).toBe(404);
  expect(page.text).toContain(`<h1>No such ${what}</h1>`);
  expect(page.text).toMatch(/Look for it in <a href="\/console\//);
});

test("an unknown path is 404", async () => {
  const page = await visitor().look("/console/nowhere");
  expect(page.status).toBe(404);
  expect(page.text).toContain("<h1>Page not found</h1>");
});

test.each(["/console?span=90d", "/console?span=1h&other=1"])("%s is 400 with the legal values", async (path) => {
  const page = await visitor().look(path);
  expect(page.status).toBe(400);
  expect(page.text).toContain("must be one of 1h, 24h, 7d, 30d");
});

test.each(["/console/sign-in", "/console/decisions"])(
  "another method on %s is 405 with the legal ones",
  async (path) => {
    const refused = await visitor().request(path, { method: "DELETE", headers: { "sec-fetch-site": "same-origin" } });
    expect(refused.status).toBe(405);
    expect(refused.headers.get("allow")).toContain("GET");
  },
);

test.each(["/console", "/console/decisions", "/console/would-block", "/console/scopes", "/console/agents"])(
  "without any rows %s says how the first one appears",
  async (path) => {
    const page = await visitor().look(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<p class="empty">');
  },
);

describe("readiness on the overview", () => {
  test.each([
    ["cache_store", "Not ready: cache store", "refused until it responds"],
    ["restore", "Not ready: restore", "Raise the issuer"],
    ["seals", "Not ready: seals", "svc audit verify</code> names the rows"],
    ["draining", "Not ready: draining", "This process is ending"],
  ])("%s is named with a remedy", async (name, title, advice) => {
    const page = await visitor({ reads: { ...fakeReads(), failingChecks: async () => [name] } }).look("/console");
    expect(page.status).toBe(200);
    for (const part of [title, advice]) expect(page.text).toContain(part);
  });

  test("has each remedy once where several checks fail", async () => {
    const failingChecks = async () => ["database", "cache_store", "seals"];
    const { text } = await visitor({ reads: { ...fakeReads(), failingChecks } }).look("/console");
    expect(text).toContain("Not ready: database, cache store, seals");
    expect(text.split("refused until it responds")).toHaveLength(2);
    expect(text).toContain("svc audit verify");
  });
});

describe("the sealing on the overview", () => {
  const nowMs = 1_000_000_000;
  test.each([
    [{ unsealed: 0, oldestUnsealedMs: nowMs - 3_600_000 }, "on time", "All decisions are sealed."],
    [{ unsealed: 1, oldestUnsealedMs: nowMs - 30_000 }, "on time", "1 decision is not sealed yet, the oldest from"],
    [
      { unsealed: 10_000, oldestUnsealedMs: nowMs - 3_600_000 },
      "behind",
      "10,000 or more decisions are not sealed yet",
    ],
  ])("with %o is %s", async (state, word, sentence) => {
    const reads = { ...fakeReads(), sealState: async () => ({ sealedAtMs: nowMs, ...state }) };
    const { text } = await visitor({ reads, clock: { nowMs: () => nowMs } }).look("/console");
    expect(text).toContain(`>${word}</span> Last seal`);
    expect(text).toContain(sentence);
  });
});
