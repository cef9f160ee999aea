import { requires, waitUntil } from "@svc/test-support";
import { afterEach, expect } from "vitest";
import type { Api } from "./src/api.ts";
import { pairForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";
import { blockForAMoment } from "./src/short-block.ts";
import { asOwner } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

const pair = await pairForTests();
const api = pair.one;
const hops = ledgerHops("books");
await api.attest("filer", {
  files: { hop_budget: 2, tools: [{ ref: "mcp:files/read", data_classes: ["docs"] }] },
});

afterEach(async () => {
  for (const { kind, ref } of (await list()).body.data) await lift(kind, ref);
});

const pathOf = (kind: string, ref: string) => `/v1/blocks/${kind}/${encodeURIComponent(ref)}`;
const put = (kind: string, ref: string, body: object = { reason: "hostile" }) =>
  api.call("PUT", pathOf(kind, ref), { bearer: api.tokens.admin, body });
const lift = (kind: string, ref: string) => api.call("DELETE", pathOf(kind, ref), { bearer: api.tokens.admin });
const list = (query = "") => api.call("GET", `/v1/blocks?${query}`, { bearer: api.tokens.audit });
const decide = (at: Api, session: string, token: string) => at.authorize(session, token, hops.read);
const denialEpoch = () => asOwner(pair.database, (sql) => sql`select epoch from denial_epoch`);
const recorded = (kind: string, ref: string) =>
  asOwner(
    pair.database,
    (sql) => sql`
      select kind, actor, agent, reason, details from administrative_event
      where details ->> 'kind' = ${kind} and details ->> 'ref' = ${ref} order by event_id`,
  );

describe.each([
  ["tool", hops.read.target],
  ["agent", hops.clerk.target],
  ["agent", hops.planner.target],
  ["scope", "books"],
])("a block on the %s %s", (kind, ref) => {
  test("denies from the next request on at every process, until it is lifted", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const [forExchange, spare] = (await api.renew(clerk.token, 2)).body.tokens;
    const allow = (await decide(api, session, forExchange)).body.action_id;
    expect((await put(kind, ref)).status).toBe(200);
    try {
      expect((await decide(pair.other, session, spare)).body.deny_reason).toBe("TARGET_BLOCKED");
      const exchanged = await pair.other.exchange(forExchange, hops.read, allow);
      expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    } finally {
      expect((await lift(kind, ref)).status).toBe(204);
    }
    expect((await decide(pair.other, session, spare)).body.decision).toBe("allow");
  });
});

test("a block on an agent or a scope refuses renewals and mints as well", async () => {
  const { session, clerk } = await clerkSession(api, "books");
  const [forMint, forRenewal] = (await api.renew(clerk.token, 2)).body.tokens;
  const post = await api.hop(session, forMint, hops.post);
  await put("agent", hops.clerk.target);
  try {
    const renewed = await pair.other.renew(forRenewal, 1);
    expect([renewed.status, renewed.body.details.deny_reason]).toEqual([403, "TARGET_BLOCKED"]);
    const minted = await pair.other.mint(post.token, post.action, {});
    expect([minted.status, minted.body.details.deny_reason]).toEqual([403, "TARGET_BLOCKED"]);
  } finally {
    await lift("agent", hops.clerk.target);
  }
});

describe("setting a block", () => {
  test("returns the block, and records who set and lifted it and why", async () => {
    const until = "2999-01-31T12:00:00+01:00";
    const { status, body } = await put("agent", "turncoat", { reason: "leaks", until });
    expect(status).toBe(200);
    expect(body).toEqual({
      kind: "agent",
      ref: "turncoat",
      reason: "leaks",
      until: "2999-01-31T11:00:00.000Z",
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
    await lift("agent", "turncoat");
    const details = { kind: "agent", ref: "turncoat" };
    expect(await recorded("agent", "turncoat")).toEqual([
      {
        kind: "block_set",
        actor: "admin",
        agent: "turncoat",
        reason: "leaks",
        details: { ...details, until: body.until },
      },
      { kind: "block_lifted", actor: "admin", agent: "turncoat", reason: null, details },
    ]);
  });

  test("with the same body changes nothing: no record, and cached decisions stay valid", async () => {
    const first = await put("tool", "same", { reason: "r" });
    const epoch = await denialEpoch();
    expect((await put("tool", "same", { reason: "r", until: null })).body).toEqual(first.body);
    expect(await denialEpoch()).toEqual(epoch);
    expect(await recorded("tool", "same")).toHaveLength(1);
    await lift("tool", "same");
    const lifted = await denialEpoch();
    expect(lifted).not.toEqual(epoch);
    expect((await lift("tool", "same")).status).toBe(204);
    expect(await denialEpoch()).toEqual(lifted);
    expect(await recorded("tool", "same")).toHaveLength(2);
  });

  test("twenty times at once sets one block", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => put("tool", "rush", { reason: "r" })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(await recorded("tool", "rush")).toHaveLength(1);
    await lift("tool", "rush");
  });

  test("with an end time expires by itself, and a new one can then be set", async () => {
    const { session, token } = await api.consent("files");
    const call = { target: "mcp:files/read", target_kind: "tool", data_class: "docs" } as const;
    const ask = async () => (await api.authorize(session, token, call)).body;
    const creations: string[] = [];
    const until = await blockForAMoment(
      async (until) =>
        creations.push((await put("tool", call.target, { reason: "for a moment", until })).body.created_at),
      async () => (await ask()).deny_reason === "TARGET_BLOCKED",
    );
    await waitUntil("the block to lapse", async () => (await ask()).decision === "allow");
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
    expect((await list()).text).not.toContain(call.target);
    const second = await put("tool", call.target, { reason: "again" });
    expect(Date.parse(second.body.created_at)).toBeGreaterThan(Date.parse(creations.at(-1) ?? ""));
    expect((await ask()).deny_reason).toBe("TARGET_BLOCKED");
    await lift("tool", call.target);
  });

  test.each([
    ["a moment that is past", "tool", "t", { reason: "r", until: "2020-01-01T00:00:00Z" }, "until"],
    ["a moment without an offset", "tool", "t", { reason: "r", until: "2999-01-01T00:00:00" }, "until"],
    ["a moment that is a number", "tool", "t", { reason: "r", until: 1 }, "until"],
    ["no reason", "tool", "t", {}, "reason"],
    ["a reason with a control character", "tool", "t", { reason: "a\u0007" }, "reason"],
    ["an unknown member", "tool", "t", { reason: "r", till: "x" }, ""],
    ["an unknown kind", "user", "ada", { reason: "r" }, "kind"],
    ["a tool ref with a space", "tool", "a b", { reason: "r" }, "ref"],
    ["an agent in capitals", "agent", "Planner", { reason: "r" }, "ref"],
    ["a scope of 256 characters", "scope", "x".repeat(256), { reason: "r" }, "ref"],
    ["a ref that was encoded twice", "tool", "http%3Abooks", { reason: "r" }, "ref"],
  ])("refuses %s", async (_name, kind, ref, body, path) => {
    const answer = await put(kind, ref, body);
    expect([answer.status, answer.body.error.code, answer.body.details.issues[0].path]).toEqual([
      400,
      "invalid_request",
      path,
    ]);
  });
});

test.each([
  ["tool", "mcp:files/write#x"],
  ["tool", "http:a/b/c@1"],
  ["scope", "a/b %2F c?d#e"],
  ["scope", "Größe ✓"],
  ["scope", "x".repeat(255)],
])("the percent-encoded ref of a %s is decoded once: %s", async (kind, ref) => {
  expect((await put(kind, ref)).body).toMatchObject({ kind, ref });
  expect((await list()).body.data).toContainEqual(expect.objectContaining({ kind, ref }));
  await lift(kind, ref);
  expect((await list()).body.data).not.toContainEqual(expect.objectContaining({ ref }));
});

test("pages of blocks, ordered by kind and ref, contain each block once", async () => {
  const made = [
    ["agent", "a-z"],
    ["agent", "b"],
    ["scope", "Z first"],
    ["scope", "a second"],
    ["tool", "a"],
  ] as const;
  for (const [kind, ref] of made.toReversed()) await put(kind, ref);
  const seen: unknown[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { body } = await list(`limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.data.map(({ kind, ref }: { kind: string; ref: string }) => [kind, ref]));
    cursor = body.page.next_cursor;
  }
  expect(seen).toEqual(made);
  for (const [kind, ref] of made) await lift(kind, ref);
  expect((await list()).body).toEqual({ data: [], page: { next_cursor: null, limit: 50 } });
});
