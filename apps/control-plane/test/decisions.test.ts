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

  test("that bounds an empty span of time is no fault", async () => {
    expect((await read("since=2020-01-01T00:00:00Z&until=2020-01-01T00:00:00Z")).status).toBe(200);
  });
});

describe("pages", () => {
  test("join without gap or repeat while others write, also those who commit late", async () => {
    const paged = "paged-agent";
    const before = Array.from({ length: 10_000 }, () => aRow({ acting_agent: paged }));
    for (let at = 0; at < before.length; at += 1_000)
      await sql`insert into decision ${sql(before.slice(at, at + 1_000) as never)}`;
    const late = Promise.withResolvers<void>();
    let isReading = true;
    const writers = Array.from({ length: 4 }, (_, n) =>
      sql.begin(async (tx) => {
        await tx`insert into decision ${tx(aRow({ acting_agent: paged }) as never)}`;
        while (isReading && n > 0) await record({ acting_agent: paged });
        await late.promise;
      }),
    );
    const seen: string[] = [];
    let cursor: string | null = "";
    for (let page = 0; cursor !== null; page++) {
      const answer = await read(`agent=${paged}&limit=200${cursor && `&cursor=${cursor}`}`);
      seen.push(...idsOf(answer));
      cursor = nextOf(answer);
      if (page === 10) late.resolve();
    }
    isReading = false;
    await Promise.all(writers);
    const unique = new Set(seen);
    expect(unique.size).toBe(seen.length);
    expect(before.filter(({ action_id }) => !unique.has(action_id))).toEqual([]);
  }, 120_000);

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
