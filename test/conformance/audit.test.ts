import { waitUntil } from "@svc/test-support";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./src/api.ts";
import { oneForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { asOwner } from "./src/stack.ts";

const { api, database } = await oneForTests();
const hops = ledgerHops("books");

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body !== undefined && { body }) });
const audit = (path: string): Promise<Answer> => api.call("GET", `/v1/audit/${path}`, { bearer: api.tokens.audit });

/** All rows of a read, with one row per page. */
async function readAll(path: string, limit: number): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let cursor = ""; ; ) {
    const { status, body } = await audit(`${path}&limit=${limit}${cursor}`);
    expect(status).toBe(200);
    rows.push(...body.data);
    if (body.page.next_cursor === null) return rows;
    expect(body.data).toHaveLength(limit);
    cursor = `&cursor=${body.page.next_cursor}`;
  }
}

describe("audit events", () => {
  let session: string;
  const planner = ledgerHops("events").planner.target;
  const _startedAt = new Date().toISOString();

  beforeAll(async () => {
    await registerLedger(api, "events");
    const consented = await api.consent("events");
    session = consented.session;
    const [root] = (await api.renew(consented.token, 1)).body.tokens;
    const delegated = await api.hop(session, root, ledgerHops("events").planner);
    expect((await api.renew(delegated.token, 3)).status).toBe(200);
    expect((await admin("POST", `/v1/sessions/${session}/revoke`, { reason: "done with it" })).status).toBe(200);
  });

  const events = async (query: string) => (await audit(`events?${query}`)).body.data;

  const _event = (facts: Record<string, unknown>) => ({
    event_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    session_id: session,
    agent: null,
    reason: null,
    details: expect.any(Object),
    ...facts,
  });

  test.each<[string, () => Promise<Answer>, Record<string, unknown>]>([
    ["block_set", () => admin("PUT", "/v1/blocks/tool/http:evil%2Ftool", { reason: "hostile" }), { reason: "hostile" }],
    ["block_lifted", () => admin("DELETE", "/v1/blocks/tool/http:evil%2Ftool"), {}],
    ["key_rotated", () => admin("POST", "/v1/keys/rotate", { now: true }), {}],
    [
      "manifest_submitted",
      () => admin("POST", "/v1/manifests", { agent: planner, manifest: { scopes: { events: { hop_budget: 2 } } } }),
      { agent: planner, details: expect.objectContaining({ status: "needs_review" }) },
    ],
  ])("include a %s as soon as its response arrives", async (kind, act, facts) => {
    await act();
    const [latest] = await events(`kind=${kind}&limit=1`);
    expect(latest).toMatchObject({ kind, actor: "admin", session_id: null, ...facts });
  });

  test("page through agents' and administrators' events as one history", async () => {
    const whole = await events("limit=200");
    expect(new Set(whole.map(({ kind }: { kind: string }) => kind)).size).toBeGreaterThan(4);
    expect(await readAll("events?", 1)).toEqual(whole);
    expect(await readAll("events?kind=token_renewed", 1)).toHaveLength(2);
  });

  test.each([
    ["since", (ts: string) => `since=${ts}`, (at: string, ts: string) => at >= ts],
    ["until", (ts: string) => `until=${ts}`, (at: string, ts: string) => at < ts],
  ])("accept %s to the millisecond", async (_, query, holds) => {
    const whole: { ts: string }[] = await events("limit=200");
    const { ts } = whole[3] ?? { ts: "" };
    expect(await events(`limit=200&${query(ts)}`)).toEqual(whole.filter((row) => holds(row.ts, ts)));
  });
});

describe("an explanation", () => {
  const explanation = async (actionId: string) => (await audit(`actions/${actionId}/explanation`)).body;
  const failed = (body: { checks: { check: string; passed: boolean }[] }) =>
    body.checks.filter(({ passed }) => !passed).map(({ check }) => check);

  test("of a deny names a manifest change that, once it is made, admits the call", async () => {
    await registerLedger(api, "advised");
    const there = ledgerHops("advised");
    const wanted = { target: "http:advised/archive", target_kind: "tool", data_class: "finance.entries" } as const;
    const before = await clerkSession(api, "advised");
    const denied = await api.authorize(before.session, before.clerk.token, wanted);
    const { remedy } = await explanation(denied.body.action_id);
    const clerk = there.clerk.target;
    expect(remedy).toContain(`to "tools" under scope "advised" in the manifest of "${clerk}"`);

    const tool = JSON.parse(/Add (\{.*\}) to "tools"/.exec(remedy)?.[1] ?? "");
    const { doc } = (await admin("GET", `/v1/manifests/advised?agent=${clerk}`)).body;
    doc.scopes.advised.tools.push(tool);
    const submitted = await admin("POST", "/v1/manifests", { agent: clerk, manifest: doc, override: {} });
    expect(submitted.status).toBe(201);
    const after = await clerkSession(api, "advised");
    expect((await api.authorize(after.session, after.clerk.token, wanted)).body.decision).toBe("allow");
  });

  test("shows the state at the time of the decision after that state changes", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const path = `/v1/blocks/tool/${encodeURIComponent(hops.browse.target)}`;
    expect((await admin("PUT", path, { reason: "hostile" })).status).toBe(200);
    const denied = await api.authorize(session, clerk.token, hops.browse);
    expect((await admin("DELETE", path)).status).toBe(204);
    const body = await explanation(denied.body.action_id);
    expect(body.deny_reason).toBe("TARGET_BLOCKED");
    expect(failed(body)).toEqual(["block"]);
    expect(body.checks[3].facts).toEqual({ blocks: [{ kind: "tool", ref: hops.browse.target }] });
    expect(body.remedy).toContain(`block on tool "${hops.browse.target}"`);
  });

  test("of a deny at the exchange shows what changed after the allow", async () => {
    const { session, clerk } = await clerkSession(api, "books");
    const allowed = (await api.authorize(session, clerk.token, hops.read)).body.action_id;
    await admin("POST", `/v1/sessions/${session}/revoke`, {});
    expect((await api.exchange(clerk.token, hops.read, allowed)).status).toBe(403);
    const [deny] = (await api.decisions(`session_id=${session}&outcome=deny`)).body.data;
    const body = await explanation(deny.action_id);
    expect(body).toMatchObject({ deny_reason: "SESSION_REVOKED", remedy: expect.stringContaining("consent again") });
    expect(body.checks[0]).toEqual({ check: "session", passed: false, facts: { expired: false, revoked: true } });
    expect(failed(await explanation(allowed))).toEqual([]);
  });

  test("names the scopes whose consent would have admitted the call", async () => {
    await admin("POST", "/v1/agents", {
      name: "traveller",
      manifest: {
        scopes: {
          trips: { hop_budget: 2, tools: [{ ref: "http:trips/look", data_classes: ["trips"] }] },
          bookings: { hop_budget: 2, tools: [{ ref: "http:trips/book", data_classes: ["trips"] }] },
        },
      },
      override: {},
    });
    const { session, token } = await api.consent("trips");
    const delegation = { target: "traveller", target_kind: "agent", data_class: "trips" } as const;
    const traveller = await api.hop(session, token, delegation);
    const book = { target: "http:trips/book", target_kind: "tool", data_class: "trips" } as const;
    const denied = await api.authorize(session, traveller.token, book);
    const body = await explanation(denied.body.action_id);
    expect(body.deny_reason).toBe("SCOPE_NOT_CONSENTED");
    expect(body.checks[6].facts).toMatchObject({ caller: "traveller", declared: false, scopes: ["bookings"] });
    expect(body.remedy).toContain('Ask the human to consent to scope "bookings"');
  });
});

describe("the list of calls that observe mode would have blocked", () => {
  const observed = { enforced: false };

  beforeAll(async () => {
    await registerLedger(api, "watched");
    await registerLedger(api, "unwatched");
    for (const scope of ["watched", "unwatched"]) {
      const { session, clerk } = await clerkSession(api, scope);
      const there = ledgerHops(scope);
      const [first, second, third, fourth] = (await api.renew(clerk.token, 4)).body.tokens;
      const nowhere = { ...there.read, target: "http:common/nowhere" };
      const { body } = await api.authorize(session, first, nowhere, observed);
      await waitUntil("the next millisecond", () => Date.now() > Date.parse(body.decided_at));
      await api.authorize(session, second, nowhere, observed);
      await api.authorize(session, third, { ...there.read, data_class: "crm" }, observed);
      await api.authorize(session, fourth, nowhere);
      await api.authorize(session, clerk.token, there.read, observed);
    }
  });

  const facts = ({ agent, target, data_class, deny_reason, count }: Record<string, unknown>) => [
    ...[agent, target, data_class, deny_reason, count],
  ];
  const expected = (scope: string) => [
    [`clerk-${scope}`, "http:common/nowhere", "finance.entries", "TARGET_NOT_DECLARED", 2],
    [`clerk-${scope}`, `http:${scope}/read`, "crm", "DATA_CLASS_NOT_DECLARED", 1],
  ];

  test("groups observed denies with a count, without allowed or enforced calls", async () => {
    const rows = await readAll("would-block?", 50);
    expect(rows.map(facts)).toEqual([...expected("unwatched"), ...expected("watched")]);
    const [group] = rows;
    expect(Object.keys(group ?? {})).toEqual([
      ...["agent", "target", "target_kind", "data_class", "deny_reason", "count", "first_ts", "last_ts", "now"],
    ]);
    expect(String(group?.first_ts) < String(group?.last_ts)).toBe(true);
  });

  test("says what the newest policy of each scope decides", async () => {
    const rows = await readAll("would-block?", 50);
    expect(rows.map(({ now, deny_reason }) => [now, deny_reason])).toEqual(
      ["unwatched", "unwatched", "watched", "watched"].map((scope, n) => {
        const reason = n % 2 === 0 ? "TARGET_NOT_DECLARED" : "DATA_CLASS_NOT_DECLARED";
        return [{ status: "open", scopes: [{ scope, since_version: null, deny_reason: reason }] }, reason];
      }),
    );
  });

  test("returns the same groups page by page", async () => {
    expect(await readAll("would-block?", 1)).toEqual(await readAll("would-block?", 50));
  });

  test("is the same when the service has counted its rows", async () => {
    const counted = (): Promise<boolean> =>
      asOwner(database, async (sql) => {
        const [left] = await sql`
          select from decision where not enforced and deny_reason is not null and seq > would_block_counted()`;
        return left === undefined;
      });
    await waitUntil("the rows to be counted", counted);
    const rows = await readAll("would-block?", 50);
    expect(rows.map(facts)).toEqual([...expected("unwatched"), ...expected("watched")]);
  });

  test("filters by scope and by time", async () => {
    expect((await readAll("would-block?scope=watched", 50)).map(facts)).toEqual(expected("watched"));
    expect(await readAll("would-block?scope=nowhere", 50)).toEqual([]);
    const [{ first_ts: first } = { first_ts: "" }] = await readAll("would-block?", 50);
    const [earliest] = (
      await readAll(`would-block?until=${new Date(Date.parse(String(first)) + 1).toISOString()}`, 50)
    ).filter(({ agent }) => agent === "clerk-unwatched");
    expect(earliest).toMatchObject({ count: 1, first_ts: first, last_ts: first });
    expect(await readAll("would-block?until=2020-01-01T00:00:00Z", 50)).toEqual([]);
  });

  test("refuses a cursor of another filter or route", async () => {
    const { body } = await audit("would-block?limit=1");
    const cursor = body.page.next_cursor;
    expect((await audit(`would-block?limit=1&cursor=${cursor}`)).status).toBe(200);
    expect((await audit(`would-block?limit=1&scope=watched&cursor=${cursor}`)).status).toBe(400);
    expect((await audit(`events?limit=1&cursor=${cursor}`)).status).toBe(400);
  });
});

test("readiness shows the time of the last housekeeping run", async () => {
  const lastRun = await waitUntil("housekeeping to be done", async () => {
    const { body } = await api.call("GET", "/readyz");
    return body.housekeeping.last_run ?? false;
  });
  expect(Date.parse(lastRun)).toBeLessThanOrEqual(Date.now());
});
