import { createDatabase, startControlPlane, type TestDatabase, testBearers } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Api, createApi } from "./src/api.ts";
import { enrolling } from "./src/enrollment.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

let database: TestDatabase;
let api: Api;
let agents: ReturnType<typeof enrolling>;
let sql: postgres.Sql;
let stop: () => Promise<unknown>;

beforeAll(async () => {
  database = await createDatabase();
  const controlPlane = await startControlPlane({ database });
  stop = controlPlane.stop;
  sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  api = createApi(controlPlane.url, testBearers);
  agents = enrolling(api);
}, 60_000);
afterAll(async () => {
  await stop();
  await sql.end();
  await database.drop();
});

let agentCount = 0;
async function newAgent(): Promise<string> {
  const name = `agent-${++agentCount}`;
  const { status, text } = await api.attest(name, { books: { hop_budget: 2 } });
  if (status !== 201) throw new Error(text);
  return name;
}

interface Listed {
  readonly names: readonly string[];
  readonly asOf: string;
  readonly next: string | null;
}

async function list(query: Record<string, string> = {}): Promise<Listed> {
  const { status, body, text } = await api.call("GET", `/v1/identity/revocations?${new URLSearchParams(query)}`, {
    bearer: testBearers.identity,
  });
  if (status !== 200) throw new Error(text);
  const names = body.data.map(({ agent }: { agent: string }) => agent);
  return { names, asOf: body.as_of, next: body.page.next_cursor };
}

/** Every name from `since` on, page by page. */
async function walk(query: Record<string, string> = {}): Promise<readonly string[]> {
  const names: string[] = [];
  let page = await list(query);
  names.push(...page.names);
  while (page.next !== null) {
    page = await list({ ...query, cursor: page.next });
    names.push(...page.names);
  }
  return names;
}

/** A revocation past the service whose transaction stays open until it is told to commit. */
async function revokeSlowly(agent: string) {
  const own = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  const gate = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  const done = own.begin(async (tx) => {
    await tx`insert into revocation (agent_id, agent, as_of)
      select agent_id, name, clock_timestamp() from agent where name = ${agent}`;
    written.resolve();
    await gate.promise;
  });
  onTestFinished(async () => {
    gate.resolve();
    await done;
    await own.end();
  });
  await written.promise;
  return {
    commit: async () => {
      gate.resolve();
      await done;
    },
  };
}

describe("a revocation", () => {
  test("answers the identity, is final, and keeps its first reason", async () => {
    const agent = await newAgent();
    const first = await agents.revoke(agent, { reason: "leaked key" });
    expect(first).toMatchObject({
      status: 200,
      body: {
        agent,
        status: "revoked",
        anchor_version: 0,
        jwks: { keys: [] },
        revoked: true,
        revoked_reason: "leaked key",
        as_of: expect.stringMatching(/\.\d{3}Z$/),
      },
    });
    expect((await agents.revoke(agent, { reason: "again" })).body).toEqual(first.body);
    expect((await agents.identity(agent)).body).toEqual(first.body);
  });

  test("needs no body", async () => {
    const { body } = await agents.identity(await newAgent());
    const answer = await api.call("POST", `/v1/agents/${body.agent_id}/revoke`, { bearer: testBearers.admin });
    expect(answer).toMatchObject({ status: 200, body: { revoked: true, revoked_reason: null } });
  });

  test("is one event and one count, however often and in parallel it is asked for", async () => {
    const count = async () => {
      const { text } = await api.call("GET", "/metrics");
      return Number(/^svc_revocations_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const [agent, before] = [await newAgent(), await count()];
    const answers = await Promise.all(Array.from({ length: 8 }, () => agents.revoke(agent, { reason: "r" })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await count()).toBe(before + 1);
    const query = new URLSearchParams({ agent, kind: "agent_revoked" });
    const events = await api.call("GET", `/v1/audit/events?${query}`, { bearer: testBearers.audit });
    expect(events.body.data).toMatchObject([{ kind: "agent_revoked", actor: "admin", agent, reason: "r" }]);
  });

  test("replaces the denial epoch, and a second one does not", async () => {
    const epoch = async () => (await sql`select epoch from denial_epoch`)[0]?.epoch;
    const [agent, before] = [await newAgent(), await epoch()];
    await agents.revoke(agent);
    const after = await epoch();
    expect(after).not.toBe(before);
    await agents.revoke(agent);
    expect(await epoch()).toBe(after);
  });

  test.each(["01900000-0000-7000-8000-000000000000", "x", "..%2f"])("of %s is not found", async (id) => {
    const answer = await api.call("POST", `/v1/agents/${id}/revoke`, { bearer: testBearers.admin, body: {} });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });

  test.each([{ reason: "" }, { reason: "a\0" }, { reason: 1 }, { why: "x" }, []])(
    "with %j is refused",
    async (body) => {
      const agent = await newAgent();
      expect((await agents.revoke(agent, body)).status).toBe(400);
      expect((await agents.identity(agent)).body.revoked).toBe(false);
    },
  );
});

describe("nothing that starts after a revocation answered succeeds", () => {
  let scopeCount = 0;
  async function session() {
    const scope = `ledger-${++scopeCount}`;
    await registerLedger(api, scope);
    return { scope, ...(await clerkSession(api, scope)) };
  }
  const refusals = async (stage: string) => {
    const { text } = await api.call("GET", "/metrics");
    return Number(
      new RegExp(`^svc_revoked_hop_refusals_total\\{stage="${stage}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0,
    );
  };

  test.each(["planner", "clerk"] as const)("with the %s in the chain", async (member) => {
    const { session: id, clerk, hops } = await session();
    const [forExchange, forRenewal, forMint, spare] = (await api.renew(clerk.token, 4)).body.tokens;
    const action = (await api.authorize(id, forExchange, hops.read)).body.action_id;
    const post = await api.hop(id, forMint, hops.post);
    const before = [await refusals("decide"), await refusals("exchange")];
    expect((await agents.revoke(hops[member].target)).status).toBe(200);

    expect((await api.authorize(id, spare, hops.read)).body.deny_reason).toBe("AGENT_REVOKED");
    const exchanged = await api.exchange(forExchange, hops.read, action);
    expect([exchanged.status, exchanged.body.error]).toEqual([403, "invalid_target"]);
    const details = { deny_reason: "AGENT_REVOKED" };
    const renewed = await api.renew(forRenewal, 1);
    expect(renewed.body).toMatchObject({ error: { code: "renewal_refused" }, details });
    expect((await api.mint(post.token, post.action, {})).body).toMatchObject({
      error: { code: "mint_refused" },
      details,
    });
    expect([await refusals("decide"), await refusals("exchange")]).toEqual(before.map((n) => n + 1));
  });

  test("with the agent as the target", async () => {
    const { scope, session: id, root } = await session();
    const { planner } = ledgerHops(scope);
    await agents.revoke(planner.target);
    const again = await api.consent(scope);
    expect((await api.authorize(again.session, again.token, planner)).body.deny_reason).toBe("AGENT_REVOKED");
    expect((await api.authorize(id, root, planner)).body.deny_reason).toBe("AGENT_REVOKED");
  });

  test("however many exchanges race it: those that win are refused at the next check", async () => {
    const { session: id, clerk, hops } = await session();
    const tokens: string[] = (await api.renew(clerk.token, 8)).body.tokens;
    const actions = await Promise.all(tokens.map((token) => api.authorize(id, token, hops.post)));
    const racing = tokens.map((token, n) => api.exchange(token, hops.post, actions[n]?.body.action_id));
    await agents.revoke(hops.clerk.target);
    const answers = await Promise.all(racing);
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 403)).toEqual([]);
    for (const [n, { status, body }] of answers.entries()) {
      if (status !== 200) continue;
      const minted = await api.mint(body.access_token, actions[n]?.body.action_id, {});
      expect(minted.body.error.code).toBe("mint_refused");
    }
  });
});

describe("the list of revocations", () => {
  test("is in the order of revocation, and read again from its as_of on holds what was revoked since", async () => {
    const names = [await newAgent(), await newAgent(), await newAgent()];
    for (const name of names) await agents.revoke(name);
    const whole = await list({ limit: "200" });
    expect(whole.names.slice(-3)).toEqual(names);
    const later = await newAgent();
    await agents.revoke(later);
    const since = await list({ since: whole.asOf });
    expect(since.names).toContain(later);
    expect(since.names).not.toContain(names[0]);
    expect(Date.parse(since.asOf)).toBeGreaterThanOrEqual(Date.parse(whole.asOf));
  });

  test("takes since inclusively, with any offset", async () => {
    const agent = await newAgent();
    const { as_of } = (await agents.revoke(agent)).body;
    const shifted = `${new Date(Date.parse(as_of) + 7_200_000).toISOString().slice(0, -1)}+02:00`;
    for (const since of [as_of, shifted]) expect((await list({ since })).names).toContain(agent);
    const after = new Date(Date.parse(as_of) + 1).toISOString();
    expect((await list({ since: after })).names).not.toContain(agent);
  });

  test("comes page by page, each agent once", async () => {
    for (let n = 0; n < 5; n++) await agents.revoke(await newAgent());
    const whole = await walk({ limit: "200" });
    expect(await walk({ limit: "2" })).toEqual(whole);
    expect(new Set(whole).size).toBe(whole.length);
  });

  test("also where many were revoked in the same millisecond", async () => {
    const names = await Promise.all(Array.from({ length: 5 }, newAgent));
    await sql`insert into revocation (agent_id, agent, as_of)
      select agent_id, name, (select max(as_of) from revocation) from agent where name = any(${names})`;
    const walked = await walk({ limit: "1" });
    expect(walked.filter((name) => names.includes(name)).toSorted()).toEqual(names.toSorted());
  });

  test.each<[string, (cursor: string) => Record<string, string>]>([
    ["altered", (cursor) => ({ limit: "1", cursor: `${cursor.slice(0, -1)}${cursor.endsWith("A") ? "B" : "A"}` })],
    ["truncated", (cursor) => ({ limit: "1", cursor: cursor.slice(0, -4) })],
    ["of another since", (cursor) => ({ limit: "1", cursor, since: "2020-01-01T00:00:00Z" })],
    ["made up", () => ({ cursor: Buffer.from("0 0 x").toString("base64url") })],
  ])("refuses a cursor that is %s", async (_case, query) => {
    const { next } = await list({ limit: "1" });
    await expect(list(query(next ?? ""))).rejects.toThrow(/invalid_request/);
  });

  test("refuses a cursor of another route", async () => {
    const { body } = await api.call("GET", "/v1/agents?limit=1", { bearer: testBearers.admin });
    await expect(list({ limit: "1", cursor: body.page.next_cursor })).rejects.toThrow(/invalid_request/);
  });

  test.each(["0", "201", "-1", "1.5", "x"])("refuses limit %s", async (limit) => {
    await expect(list({ limit })).rejects.toThrow(/invalid_request/);
  });

  test.each(["yesterday", "2026-01-01", "10000-01-01T00:00:00Z", "2026-01-01T00:00:00"])(
    "refuses since %s",
    async (since) => {
      await expect(list({ since })).rejects.toThrow(/invalid_request/);
    },
  );

  describe("never passes a revocation whose transaction is not over", () => {
    test("so that one which commits late is found from the as_of given before", async () => {
      const [late, prompt] = [await newAgent(), await newAgent()];
      const slow = await revokeSlowly(late);
      await agents.revoke(prompt);
      const between = await list();
      const all = await walk();
      expect(all).toContain(prompt);
      expect(all).not.toContain(late);
      await slow.commit();
      const committed = (await agents.identity(late)).body.as_of;
      expect(Date.parse(between.asOf)).toBeLessThanOrEqual(Date.parse(committed));
      expect(await walk({ since: between.asOf })).toEqual(expect.arrayContaining([late, prompt]));
      expect(Date.parse((await list()).asOf)).toBeGreaterThanOrEqual(Date.parse(committed));
    });

    test("also where it commits while the pages are read: all of them have the first one's as_of", async () => {
      const [late, ...prompt] = [await newAgent(), await newAgent(), await newAgent()];
      const slow = await revokeSlowly(late);
      for (const name of prompt) await agents.revoke(name);
      const start = new Date(Date.parse((await agents.identity(prompt[0] ?? "")).body.as_of)).toISOString();
      const first = await list({ since: start, limit: "1" });
      await slow.commit();
      const second = await list({ since: start, limit: "1", cursor: first.next ?? "" });
      expect(second.names).not.toContain(late);
      expect(second.asOf).toBe(first.asOf);
      expect(await walk({ since: second.asOf })).toContain(late);
    });

    test("and a reader that only ever reads on misses none of many that commit in any order", async () => {
      const names = await Promise.all(Array.from({ length: 12 }, newAgent));
      const found = new Set<string>();
      let { asOf } = await list();
      const read = async () => {
        const { asOf: next } = await list({ since: asOf });
        for (const name of await walk({ since: asOf, limit: "3" })) found.add(name);
        expect(Date.parse(next)).toBeGreaterThanOrEqual(Date.parse(asOf));
        asOf = next;
      };
      const open: { commit: () => Promise<void> }[] = [];
      for (const [n, name] of names.entries()) {
        if (n % 3 === 0) open.push(await revokeSlowly(name));
        else await agents.revoke(name);
        await read();
        if (n % 4 === 3) await open.shift()?.commit();
        await read();
      }
      for (const slow of open) await slow.commit();
      await read();
      expect([...found]).toEqual(expect.arrayContaining(names));
    });
  });
});

describe("a reader that knows an identity asks whether it changed", () => {
  const etagOf = async (agent: string) => (await agents.identity(agent)).headers.get("etag") ?? "";

  test("and gets 304 without a body until it did", async () => {
    const agent = await newAgent();
    const first = await agents.identity(agent);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(first.headers.get("cache-control")).toBe("private, no-cache");
    const unchanged = await agents.identity(agent, { "if-none-match": etag });
    expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await agents.identity(agent, { "if-none-match": '"other"' })).status).toBe(200);
    await agents.revoke(agent);
    const changed = await agents.identity(agent, { "if-none-match": etag });
    expect(changed).toMatchObject({ status: 200, body: { revoked: true } });
    expect(await etagOf(agent)).not.toBe(etag);
  });

  test("by id as by name, with a list and with a weak tag", async () => {
    const { body, headers } = await agents.identity(await newAgent());
    const etag = headers.get("etag") ?? "";
    for (const sent of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const answer = await api.call("GET", `/v1/identity/agents/by-id/${body.agent_id}`, {
        bearer: testBearers.identity,
        raw: { headers: { "if-none-match": sent } },
      });
      expect(answer.status).toBe(304);
    }
  });

  test("but nothing without a bearer, whatever it knows", async () => {
    const agent = await newAgent();
    const etag = await etagOf(agent);
    for (const tag of [etag, "*"]) {
      const raw = { headers: { "if-none-match": tag } };
      expect((await api.call("GET", `/v1/identity/agents/${agent}`, { raw })).status).toBe(401);
      expect((await api.call("GET", "/v1/identity/agents/nobody", { bearer: testBearers.admin, raw })).status).toBe(
        404,
      );
    }
  });
});
