import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope } = await ledgerForTests();
const hops = ledgerHops(scope);

/** A session's five decisions: two delegations, a read that was called, a privileged call that was not, and a deny. */
const { session, actions } = await decideFiveTimes();
async function decideFiveTimes() {
  const { session, planner, clerk } = await clerkSession(api, scope);
  const [a, b] = (await api.renew(clerk.token, 2)).body.tokens;
  const read = await api.hop(session, a, hops.read);
  const post = await api.authorize(session, b, hops.post);
  const denied = await api.authorize(session, b, { ...hops.read, target: "http:no/where" });
  const actions = {
    planner: planner.action,
    clerk: clerk.action,
    read: read.action,
    post: post.body.action_id as string,
    denied: denied.body.action_id as string,
  };
  return { session, actions };
}

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const audit = (path: string) => api.call("GET", path, { bearer: api.tokens.audit });
const idsOf = (body: { data: { action_id: string }[] }) => body.data.map(({ action_id }) => action_id);

describe("the chain of an action", () => {
  test("leads back to the consenting person, with every field of every hop", async () => {
    const { status, body } = await api.chain(actions.read);
    const hop = {
      data_class: "finance.entries web",
      decision: "allow",
      deny_reason: null,
      enforced: true,
      ts: timestamp,
    };
    const [planner, clerk, read] = [hops.planner.target, hops.clerk.target, hops.read.target];
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        root: { user_sub: "ada", scope, consented_at: timestamp, session_id: session },
        hops: [
          { ...hop, hop: 1, action_id: actions.planner, acting_agent: "ada", target: planner, target_kind: "agent" },
          { ...hop, hop: 2, action_id: actions.clerk, acting_agent: planner, target: clerk, target_kind: "agent" },
          {
            ...hop,
            hop: 3,
            action_id: actions.read,
            acting_agent: clerk,
            target: read,
            target_kind: "tool",
            data_class: "finance.entries",
          },
        ],
        complete: true,
        break: null,
      },
    });
  });

  test("ends in the deny of a denied action", async () => {
    const { complete, hops: chain } = (await api.chain(actions.denied)).body;
    expect([complete, chain.length]).toEqual([true, 3]);
    expect(chain[2]).toMatchObject({
      hop: 3,
      action_id: actions.denied,
      decision: "deny",
      deny_reason: "TARGET_NOT_DECLARED",
    });
  });

  test.each(["01a00000-0000-7000-8000-000000000000", "01900000-0000-7000-8000-00000000000G", "x", "%25", "%27"])(
    "of %s is not found",
    async (id) => {
      const answer = await api.chain(id);
      expect([answer.status, answer.body.error.code]).toEqual([404, "action_not_found"]);
    },
  );
});

describe("the history of decisions", () => {
  test("is newest first, each row with every field", async () => {
    const { status, body } = await api.decisions(`session_id=${session}`);
    expect([status, idsOf(body)]).toEqual([
      200,
      [actions.denied, actions.post, actions.read, actions.clerk, actions.planner],
    ]);
    expect(body.page).toEqual({ next_cursor: null, limit: 50 });
    expect(body.data[2]).toEqual({
      action_id: actions.read,
      session_id: session,
      hop: 3,
      acting_agent: hops.clerk.target,
      target: hops.read.target,
      target_kind: "tool",
      data_class: "finance.entries",
      decision: "allow",
      deny_reason: null,
      recoverable: false,
      enforced: true,
      privileged: false,
      taint: "trusted_internal",
      taint_source: null,
      policy_version: expect.any(Number),
      parent_action_id: actions.clerk,
      guarantee_level: "network",
      stage: "authorize",
      spent_at: timestamp,
      params_hash: null,
      ts: timestamp,
    });
  });

  test.each<[string, (keyof typeof actions)[]]>([
    ["outcome=deny", ["denied"]],
    ["outcome=allow", ["post", "read", "clerk", "planner"]],
    ["deny_reason=TARGET_NOT_DECLARED", ["denied"]],
    ["deny_reason=TAINT_BLOCKED", []],
    ["enforced=true&target_kind=agent", ["clerk", "planner"]],
    ["enforced=false", []],
    ["target_kind=tool", ["denied", "post", "read"]],
    ["privileged=true", ["post"]],
    ["taint=untrusted_external", []],
    ["taint=trusted_internal&outcome=deny", ["denied"]],
    ["since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00%2B02:00", []],
    ["since=2020-01-01T00:00:00Z&until=2020-01-01T00:00:00Z", []],
    ["since=2020-01-01T00:00:00Z&outcome=deny", ["denied"]],
  ])("filtered by %s holds exactly the matching rows", async (filter, want) => {
    const { status, body } = await api.decisions(`session_id=${session}&${filter}`);
    expect([status, idsOf(body)]).toEqual([200, want.map((action) => actions[action])]);
  });

  test("filtered by an agent holds that agent's acts", async () => {
    const { body } = await api.decisions(`agent=${hops.planner.target}`);
    expect(idsOf(body)).toEqual([actions.clerk]);
  });

  test("filtered by an agent or a session matches whole names, and no SQL wildcard or statement", async () => {
    const clerk = hops.clerk.target;
    const agents = [`${clerk}%25`, clerk.replace("-", "_"), clerk.toUpperCase()];
    for (const text of [
      "x",
      "%25",
      "_",
      "'%3B drop table decision",
      "\\",
      "01a00000-0000-7000-8000-000000000000",
      ...agents,
    ]) {
      for (const filter of ["session_id", "agent"]) {
        const { status, body } = await api.decisions(`${filter}=${text}`);
        expect([filter, text, status, body.data]).toEqual([filter, text, 200, []]);
      }
    }
  });

  test("pages without repeat or gap, unaffected by later decisions", async () => {
    const { session: own, clerk } = await clerkSession(api, scope);
    const seen: string[] = [];
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const { body } = await api.decisions(`session_id=${own}&limit=1${cursor}`);
      seen.push(...idsOf(body));
      if (body.page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(body.page.next_cursor)}`;
      await api.authorize(own, clerk.token, hops.read);
    }
    const { body } = await api.decisions(`session_id=${own}`);
    const [plannersTurn, clerksTurn] = idsOf(body).reverse();
    expect(seen).toEqual([clerksTurn, plannersTurn]);
  });

  test("ends without a cursor, also where the last page is full", async () => {
    const cursorOf = async (limit: number) =>
      (await api.decisions(`session_id=${session}&limit=${limit}`)).body.page.next_cursor;
    expect(await cursorOf(5)).toBeNull();
    expect(await cursorOf(4)).not.toBeNull();
  });

  test.each([
    "limit=0",
    "limit=-1",
    "limit=201",
    "limit=1000000000",
    "limit=1.5",
    "limit=x",
    "limit=",
    "limit=5&limit=5",
    "outcome=maybe",
    "deny_reason=NO_REASON",
    "enforced=yes",
    "enforced=False",
    "target_kind=robot",
    "privileged=1",
    "taint=none",
    "agent=a&agent=b",
    "agent=",
    "agent=%00",
    "agnet=a",
    "session_id=",
    "since=yesterday",
    "since=2026-01-01",
    "since=2026-01-01T00:00:00",
    "since=2020-13-01T00:00:00Z",
    "since=0000-01-01T00:00:00Z",
    "since=10000-01-01T00:00:00Z",
    "since=%2B010000-01-01T00:00:00Z",
    "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
    "cursor=AAAA",
    "cursor=",
  ])("refuses %s", async (query) => {
    const answer = await api.decisions(query);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test.each([
    ["", 50],
    ["limit=1", 1],
    ["limit=200", 200],
  ])("accepts %j as a page of %i", async (query, limit) => {
    expect((await api.decisions(query)).body.page.limit).toBe(limit);
  });

  test("refuses a cursor that was changed, cut, or issued for another filter or route", async () => {
    const of = async (query: string): Promise<string> =>
      encodeURIComponent((await api.decisions(`session_id=${session}&limit=1${query}`)).body.page.next_cursor);
    const cursor = await of("");
    const flipped = `${cursor[0] === "A" ? "B" : "A"}${cursor.slice(1)}`;
    for (const path of [
      `/v1/audit/decisions?session_id=${session}&cursor=${flipped}`,
      `/v1/audit/decisions?session_id=${session}&cursor=${cursor.slice(0, -4)}`,
      `/v1/audit/decisions?session_id=${session}&outcome=allow&cursor=${cursor}`,
      `/v1/audit/decisions?cursor=${cursor}`,
      `/v1/decisions?session_id=${session}&cursor=${cursor}`,
      `/v1/audit/events?session_id=${session}&cursor=${cursor}`,
      `/v1/sessions?cursor=${cursor}`,
    ]) {
      expect([path, (await audit(path)).status]).toEqual([path, 400]);
    }
    expect((await api.decisions(`session_id=${session}&cursor=${cursor}`)).status).toBe(200);
  });
});

describe("the deprecated history", () => {
  test("returns the same rows, and headers that name its successor", async () => {
    const former = await audit(`/v1/decisions?session_id=${session}&outcome=allow&enforced=true`);
    const present = await api.decisions(`session_id=${session}&outcome=allow&enforced=true`);
    expect(former.body.data).toEqual(present.body.data);
    expect(former.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(former.headers.get("link")).toBe('</v1/audit/decisions>; rel="successor-version"');
    expect((await audit(`/v1/decisions?session_id=${session}&deny_reason=TAINT_BLOCKED`)).body.data).toEqual([]);
  });

  test.each(["agent=a", "target_kind=tool", "since=2026-01-01T00:00:00Z", "taint=trusted_internal", "privileged=true"])(
    "refuses the newer filter %s",
    async (query) => {
      expect((await audit(`/v1/decisions?${query}`)).status).toBe(400);
    },
  );
});

test("no route changes or removes a record", async () => {
  for (const method of ["PUT", "PATCH", "DELETE", "POST"]) {
    for (const path of ["/v1/audit/decisions", `/v1/audit/actions/${actions.read}/chain`]) {
      expect((await api.call(method, path, { bearer: api.tokens.admin })).status).toBe(405);
    }
  }
});
