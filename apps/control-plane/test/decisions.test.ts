import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Row, recorder, unknownId } from "./decision-rows.ts";
import { type Answer, startPlane, tokens } from "./support.ts";

const plane = await startPlane();
const { sql, sessionId, consent, aRow, record, spend } = await recorder(plane);
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

const read = (search: string, path = "/v1/audit/decisions"): Promise<Answer> =>
  plane.send(`${path}?${search}`, { token: tokens.audit });
const idsOf = ({ json }: Answer): string[] =>
  (json.data as unknown as { action_id: string }[]).map(({ action_id }) => action_id);
const nextOf = ({ json }: Answer): string | null => json.page?.next_cursor as unknown as string | null;

describe("a row of the history", () => {
  test("shows every fact of its decision, and how the allow was used", async () => {
    const row = await record({ privileged: true, guarantee_level: "full", taint_source: "mcp:web/fetch" });
    await spend(row.action_id);
    await sql`insert into mint (action_id, session_id, params_hash, minted_at)
      values (${row.action_id}, ${sessionId}, 'hash', now())`;
    const { json } = await read("limit=1");
    expect(json.data?.[0 as never]).toEqual({
      hop: 1,
      action_id: row.action_id,
      acting_agent: "ada",
      target: "planner",
      target_kind: "agent",
      data_class: "finance.entries",
      decision: "allow",
      deny_reason: null,
      enforced: true,
      ts: row.decided_at.toISOString(),
      session_id: sessionId,
      stage: "authorize",
      recoverable: false,
      privileged: true,
      taint: "trusted_internal",
      taint_source: "mcp:web/fetch",
      policy_version: 1,
      guarantee_level: "full",
      parent_action_id: null,
      spent_at: expect.stringMatching(/Z$/),
      params_hash: "hash",
    });
  });
});

test("an observed deny is recorded and grouped however long its list of data classes is", async () => {
  const dataClass = Array.from({ length: 100 }, () => crypto.randomUUID().replaceAll("-", "")).join(" ");
  const deny = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false, data_class: dataClass };
  await record({ ...deny, acting_agent: "é".repeat(255), target: "x".repeat(255) });
  const { json } = await read("limit=200", "/v1/audit/would-block");
  expect(json.data).toEqual([expect.objectContaining({ data_class: dataClass, count: 1 })]);
});

describe("a filter", () => {
  const marker = "filtered-agent";
  const deny = { decision: "deny", deny_reason: "TARGET_BLOCKED", acting_agent: marker };
  let rows: Record<string, Row>;
  beforeAll(async () => {
    rows = {
      allowed: await record({ acting_agent: marker }),
      denied: await record(deny),
      observed: await record({ ...deny, enforced: false, deny_reason: "TAINT_BLOCKED" }),
      tool: await record({ acting_agent: marker, target_kind: "tool", target: "mcp:ledger/read", privileged: true }),
      tainted: await record({ acting_agent: marker, taint: "untrusted_external" }),
      old: await record({ acting_agent: marker, decided_at: new Date("2020-01-01T00:00:00Z") }),
      other: await record({ acting_agent: marker, session_id: await consent() }),
    };
  });

  test.each<[string, readonly string[]]>([
    ["outcome=deny", ["observed", "denied"]],
    ["deny_reason=TAINT_BLOCKED", ["observed"]],
    ["enforced=false", ["observed"]],
    ["enforced=false&outcome=deny", ["observed"]],
    ["enforced=true&outcome=deny", ["denied"]],
    ["target_kind=tool", ["tool"]],
    ["privileged=true", ["tool"]],
    ["taint=untrusted_external", ["tainted"]],
    ["until=2020-01-01T00:00:00.001Z", ["old"]],
    ["until=2020-01-01T00:00:00Z", []],
    ["since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00%2B00:00", ["old"]],
    ["since=2020-01-01T01:00:00%2B01:00&until=2020-01-01T00:00:01Z", ["old"]],
    ["since=2020-01-01T00:00:00.001Z&until=2020-01-02T00:00:00Z", []],
  ])("%s selects exactly the rows it names", async (search, want) => {
    expect(idsOf(await read(`agent=${marker}&${search}`))).toEqual(want.map((name) => rows[name]?.action_id));
  });

  test("by session selects that session's rows", async () => {
    expect(idsOf(await read(`session_id=${rows.other?.session_id}`))).toEqual([rows.other?.action_id]);
  });

  test.each(["%25", "_", "filtered-agent%25", "filtered_agent", "\\", "'; drop table decision; --", "FILTERED-AGENT"])(
    "for the agent %s matches exactly, so nothing",
    async (agent) => {
      expect(await read(`agent=${agent}`)).toMatchObject({ status: 200, json: { data: [] } });
    },
  );

  test.each(["x", "%25", unknownId, "'; drop"])("for the session %s matches nothing", async (session) => {
    expect(await read(`session_id=${session}`)).toMatchObject({ status: 200, json: { data: [] } });
  });

  test.each([
    "outcome=maybe",
    "deny_reason=BECAUSE",
    "enforced=1",
    "enforced=False",
    "target_kind=human",
    "taint=low",
    "privileged=yes",
    "since=yesterday",
    "since=2020-01-01",
    "since=2020-01-01T00:00:00",
    "since=2020-13-01T00:00:00Z",
    "since=10000-01-01T00:00:00Z",
    "since=%2B010000-01-01T00:00:00Z",
    "since=0000-01-01T00:00:00Z",
    "since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z",
    "agent=",
    "agent=%00",
    "agent=a&agent=a",
    "agnet=a",
    "session_id=",
  ])("%s is malformed", async (search) => {
    expect(await read(search)).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
  });

  test("finer than a millisecond excludes the millisecond it lies in", async () => {
    const span = (since: string, until: string) => `agent=${marker}&since=${since}&until=${until}`;
    const [before, at, after] = ["2019-12-31T23:59:59.9991Z", "2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.0001Z"];
    expect(idsOf(await read(span(before, after)))).toEqual([rows.old?.action_id]);
    expect(idsOf(await read(span(after, "2020-01-02T00:00:00Z")))).toEqual([]);
    expect(idsOf(await read(span(before, at)))).toEqual([]);
  });

  test("that bounds an empty span of time is no fault", async () => {
    expect((await read("since=2020-01-01T00:00:00Z&until=2020-01-01T00:00:00Z")).status).toBe(200);
  });
});

describe("any combination of filters", () => {
  const agents = ["combined-a", "combined-b"] as const;
  const times = ["2021-03-31T23:59:59.999Z", "2021-04-01T00:00:00.000Z", "2021-06-15T12:00:00.000Z"] as const;
  const reasons = ["TAINT_BLOCKED", "TARGET_BLOCKED"] as const;
  const kept: Row[] = [];
  beforeAll(async () => {
    const facts = fc.record({
      acting_agent: fc.constantFrom(...agents),
      decided_at: fc.constantFrom(...times.map((time) => new Date(time))),
      deny_reason: fc.constantFrom(null, ...reasons),
      enforced: fc.boolean(),
      target_kind: fc.constantFrom("tool", "agent"),
      taint: fc.constantFrom("trusted_internal", "untrusted_external"),
      privileged: fc.boolean(),
      session_id: fc.constantFrom(sessionId, await consent()),
    });
    for (const changes of fc.sample(facts, { numRuns: 120, seed: 7 })) {
      kept.unshift(await record({ ...changes, decision: changes.deny_reason === null ? "allow" : "deny" }));
    }
  });

  const selects: Readonly<Record<string, (row: Row, value: string) => boolean>> = {
    agent: (row, value) => row.acting_agent === value,
    session_id: (row, value) => row.session_id === value,
    outcome: (row, value) => row.decision === value,
    deny_reason: (row, value) => row.deny_reason === value,
    enforced: (row, value) => row.enforced === (value === "true"),
    target_kind: (row, value) => row.target_kind === value,
    taint: (row, value) => row.taint === value,
    privileged: (row, value) => row.privileged === (value === "true"),
    since: (row, value) => row.decided_at >= new Date(value),
    until: (row, value) => row.decided_at < new Date(value),
  };

  test("selects what each of them selects", async () => {
    const query = fc.record({
      agent: fc.constantFrom(...agents),
      ...partly({
        session_id: fc.constant(sessionId),
        outcome: fc.constantFrom("allow", "deny"),
        deny_reason: fc.constantFrom(...reasons),
        enforced: fc.constantFrom("true", "false"),
        target_kind: fc.constantFrom("tool", "agent"),
        taint: fc.constantFrom("trusted_internal", "untrusted_external"),
        privileged: fc.constantFrom("true", "false"),
        since: fc.constantFrom("2021-01-01T00:00:00Z", ...times.slice(0, 2)),
        until: fc.constantFrom(...times.slice(1), "2021-06-15T14:00:00.001+02:00"),
      }),
    });
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const given = Object.entries(asked).filter((pair): pair is [string, string] => pair[1] !== undefined);
        const want = kept.filter((row) => given.every(([name, value]) => selects[name]?.(row, value)));
        const answer = await read(new URLSearchParams([...given, ["limit", "200"]]).toString());
        expect(idsOf(answer)).toEqual(want.map(({ action_id }) => action_id));
      }),
      { numRuns: 200 },
    );
  });
});

/** Each of them, or not. */
const partly = <T extends Readonly<Record<string, fc.Arbitrary<string>>>>(parts: T) =>
  Object.fromEntries(
    Object.entries(parts).map(([name, value]) => [name, fc.option(value, { nil: undefined })]),
  ) as Readonly<Record<keyof T, fc.Arbitrary<string | undefined>>>;

describe("pages", () => {
  beforeAll(async () => {
    const rows = Array.from({ length: 250 }, () => aRow({ acting_agent: "paged-agent" }));
    await sql`insert into decision ${sql(rows as never)}`;
  });

  test("are of the size that was asked for, newest first", async () => {
    const answer = await read("agent=paged-agent&limit=3");
    const { json } = answer;
    expect(idsOf(answer)).toHaveLength(3);
    expect(json.page).toMatchObject({ limit: 3 });
    const all = idsOf(await read("agent=paged-agent&limit=200"));
    expect(all.slice(0, 3)).toEqual(idsOf(answer));
  });

  test("end with no cursor, also where the last page is full", async () => {
    await record({ acting_agent: "two-rows" });
    await record({ acting_agent: "two-rows" });
    expect(nextOf(await read("agent=two-rows&limit=2"))).toBeNull();
    expect(nextOf(await read("agent=two-rows&limit=1"))).not.toBeNull();
  });

  test("take no cursor of another filter, another route, or another key", async () => {
    const cursor = nextOf(await read("agent=paged-agent&limit=1"));
    expect((await read(`agent=paged-agent&limit=5&cursor=${cursor}`)).status).toBe(200);
    for (const search of [
      `cursor=${cursor}`,
      `agent=ada&cursor=${cursor}`,
      `agent=paged-agent&enforced=true&cursor=${cursor}`,
    ]) {
      expect(await read(search)).toMatchObject({ status: 400, json: { details: { issues: [{ path: "cursor" }] } } });
    }
    const former = nextOf(await read("limit=1", "/v1/decisions"));
    expect((await read(`cursor=${former}`)).status).toBe(400);
    expect((await read(`limit=1&cursor=${former}`, "/v1/decisions")).status).toBe(200);
    const restarted = plane.with({ cursorKey: new Uint8Array(32) });
    expect((await restarted.send(`/v1/audit/decisions?agent=paged-agent&cursor=${cursor}`)).status).toBe(400);
  });
});

describe("the former history", () => {
  test("answers the same rows and names its successor", async () => {
    const former = await read("limit=5", "/v1/decisions");
    expect(former.json.data).toEqual((await read("limit=5")).json.data);
    expect(former.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(former.headers.get("link")).toBe('</v1/audit/decisions>; rel="successor-version"');
  });

  test.each(["session_id=x", "outcome=deny", "deny_reason=TAINT_BLOCKED", "enforced=false"])(
    "takes %s",
    async (search) => {
      expect((await read(search, "/v1/decisions")).status).toBe(200);
    },
  );

  test.each(["agent=a", "target_kind=tool", "since=2020-01-01T00:00:00Z", "taint=trusted_internal", "privileged=true"])(
    "does not take %s",
    async (search) => {
      expect((await read(search, "/v1/decisions")).status).toBe(400);
    },
  );
});
