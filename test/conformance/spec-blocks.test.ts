import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope, name } = await ledgerForTests();
const hops = ledgerHops(scope);

const pathOf = (kind: string, ref: string) => `/v1/blocks/${kind}/${encodeURIComponent(ref)}`;
const set = (kind: string, ref: string, body: object = { reason: "hostile" }) =>
  api.call("PUT", pathOf(kind, ref), { bearer: api.tokens.admin, body });
const lift = (kind: string, ref: string) => api.call("DELETE", pathOf(kind, ref), { bearer: api.tokens.admin });
const list = (query = "") => api.call("GET", `/v1/blocks?${query}`, { bearer: api.tokens.audit });
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe.each([
  ["tool", hops.read.target],
  ["agent", hops.clerk.target],
  ["agent", hops.planner.target],
  ["scope", scope],
])("a block on the %s %s", (kind, ref) => {
  test("denies from the next decision, exchange and list of targets on, until it is lifted", async () => {
    const { session, clerk } = await clerkSession(api, scope);
    const [forExchange, spare] = (await api.renew(clerk.token, 2)).body.tokens;
    const decide = async () => (await api.authorize(session, spare, hops.read)).body;
    const targets = async () =>
      (await api.call("GET", "/v1/session/targets", { bearer: spare })).body.data.map(
        ({ target }: { target: string }) => target,
      );
    const { action_id } = (await api.authorize(session, forExchange, hops.read)).body;
    expect((await set(kind, ref)).status).toBe(200);
    try {
      expect(await decide()).toMatchObject({ decision: "deny", deny_reason: "TARGET_BLOCKED", recoverable: false });
      expect(await targets()).not.toContain(hops.read.target);
      const exchanged = await api.exchange(forExchange, hops.read, action_id);
      expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    } finally {
      expect((await lift(kind, ref)).status).toBe(204);
    }
    expect((await decide()).decision).toBe("allow");
    expect(await targets()).toContain(hops.read.target);
    expect((await api.exchange(forExchange, hops.read, action_id)).status).toBe(200);
  });
});

test("a conditional request for the targets is 304 without a body until they change", async () => {
  const { clerk } = await clerkSession(api, scope);
  const [bearer, sibling] = (await api.renew(clerk.token, 2)).body.tokens;
  const read = (token: string, tag?: string) =>
    api.call("GET", "/v1/session/targets", { bearer: token, raw: { headers: tag ? { "if-none-match": tag } : {} } });
  const first = await read(bearer);
  const tag = first.headers.get("etag") ?? "";
  expect(first.headers.get("cache-control")).toBe("private, no-cache");
  for (const token of [bearer, sibling]) {
    const unchanged = await read(token, tag);
    expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", tag]);
  }
  expect((await read("", tag)).status).toBe(401);
  expect((await set("tool", hops.read.target)).status).toBe(200);
  const changed = await read(bearer, tag).finally(() => lift("tool", hops.read.target));
  expect([changed.status, changed.body.data.length]).toEqual([200, first.body.data.length - 1]);
  expect(changed.headers.get("etag")).not.toBe(tag);
  expect((await read(bearer, tag)).status).toBe(304);
});

test("a block on an agent denies delegations to it, and on an MCP server all its tools", async () => {
  const [agent, server, own] = [name("agent"), name("files"), name("own")];
  await api.attest(agent, { [own]: { hop_budget: 2, tools: [{ ref: `mcp:${server}/read`, data_classes: ["docs"] }] } });
  const { session, token } = await api.consent(own);
  const delegation = { target: agent, target_kind: "agent", data_class: "docs" } as const;
  const call = { target: `mcp:${server}/read`, target_kind: "tool", data_class: "docs" } as const;
  for (const [kind, ref, hop] of [
    ["agent", agent, delegation],
    ["tool", `mcp:${server}`, call],
  ] as const) {
    expect((await set(kind, ref)).status).toBe(200);
    expect((await api.authorize(session, token, hop)).body.deny_reason).toBe("TARGET_BLOCKED");
    expect((await lift(kind, ref)).status).toBe(204);
    expect((await api.authorize(session, token, hop)).body.decision).toBe("allow");
  }
});

test("a decision on an undeclared target does not reveal its block", async () => {
  const { session, clerk } = await clerkSession(api, scope);
  const strange = { ...hops.read, target: `http:${name("elsewhere")}/read` };
  await set("tool", strange.target);
  expect((await api.authorize(session, clerk.token, strange)).body.deny_reason).toBe("TARGET_NOT_DECLARED");
  await lift("tool", strange.target);
});

describe("setting and lifting", () => {
  test("returns the block, lists it, changes it in place, and is idempotent", async () => {
    const ref = `http:${name("evil")}/tool`;
    const first = await set("tool", ref, { reason: "hostile", until: "2999-01-31T12:00:00+01:00" });
    expect([first.status, first.body]).toEqual([
      200,
      { kind: "tool", ref, reason: "hostile", until: "2999-01-31T11:00:00.000Z", created_at: timestamp },
    ]);
    expect((await set("tool", ref, { reason: "hostile", until: "2999-01-31T11:00:00Z" })).body).toEqual(first.body);
    const changed = await set("tool", ref, { reason: "still" });
    expect(changed.body).toEqual({ ...first.body, reason: "still", until: null });
    expect((await list("limit=200")).body.data).toContainEqual(changed.body);
    for (const _twice of [1, 2]) expect((await lift("tool", ref)).status).toBe(204);
    expect((await list("limit=200")).text).not.toContain(ref);
  });

  test("records who acted and why", async () => {
    const ref = name("turncoat");
    await set("agent", ref, { reason: "leaks" });
    await lift("agent", ref);
    const { body } = await api.call("GET", `/v1/audit/events?agent=${ref}`, { bearer: api.tokens.audit });
    expect(body.data).toMatchObject([
      { kind: "block_lifted", agent: ref, reason: null },
      { kind: "block_set", agent: ref, reason: "leaks" },
    ]);
  });

  test.each<[string, string, string, object]>([
    ["a moment that is past", "tool", "t", { reason: "r", until: "2020-01-01T00:00:00Z" }],
    ["a moment without an offset", "tool", "t", { reason: "r", until: "2999-01-01T00:00:00" }],
    ["no reason", "tool", "t", {}],
    ["an unknown member", "tool", "t", { reason: "r", till: "x" }],
    ["an unknown kind", "user", "ada", { reason: "r" }],
    ["an agent in capitals", "agent", "Planner", { reason: "r" }],
    ["a scope of 256 characters", "scope", "x".repeat(256), { reason: "r" }],
  ])("refuses %s", async (_what, kind, ref, body) => {
    const answer = await set(kind, ref, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});
