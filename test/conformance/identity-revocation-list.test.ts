import { testBearers, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { identitiesForTests } from "./src/identities-for-tests.ts";

const stack = await identitiesForTests();

interface Listed {
  readonly names: readonly string[];
  readonly asOf: string;
  readonly next: string | null;
}

async function list(query: Record<string, string> = {}): Promise<Listed> {
  const { status, body, text } = await stack.api.call("GET", `/v1/identity/revocations?${new URLSearchParams(query)}`, {
    bearer: testBearers.identity,
  });
  if (status !== 200) throw new Error(text);
  const names = body.data.map(({ agent }: { agent: string }) => agent);
  return { names, asOf: body.as_of, next: body.page.next_cursor };
}

/** All names from `since` on, over all pages. */
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

/** A revocation written directly to the database, whose transaction stays open until `commit`. */
async function revokeSlowly(agent: string) {
  const own = postgres(stack.databaseUrl, { max: 1, onnotice: () => {} });
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

describe("the list of revocations", () => {
  test("is ordered by revocation time, and from its as_of on holds every later revocation", async () => {
    const names = [await stack.newAgent(), await stack.newAgent(), await stack.newAgent()];
    let revokedMs = 0;
    for (const name of names) revokedMs = Date.parse((await stack.revoke(name)).body.as_of);
    let whole = await list({ limit: "200" });
    expect(whole.names.slice(-3)).toEqual(names);
    // Other open transactions on this server hold `as_of` back.
    await waitUntil("the list to include these", async () => {
      whole = await list({ limit: "200" });
      return Date.parse(whole.asOf) >= revokedMs;
    });
    const later = await stack.newAgent();
    await stack.revoke(later);
    const since = await list({ since: whole.asOf });
    expect(since.names).toContain(later);
    expect(since.names).not.toContain(names[0]);
    expect(Date.parse(since.asOf)).toBeGreaterThanOrEqual(Date.parse(whole.asOf));
  });

  test("takes since inclusively, with any offset", async () => {
    const agent = await stack.newAgent();
    const { as_of } = (await stack.revoke(agent)).body;
    const shifted = `${new Date(Date.parse(as_of) + 7_200_000).toISOString().slice(0, -1)}+02:00`;
    for (const since of [as_of, shifted]) expect((await list({ since })).names).toContain(agent);
    const after = new Date(Date.parse(as_of) + 1).toISOString();
    expect((await list({ since: after })).names).not.toContain(agent);
  });

  test("contains each agent once over all pages", async () => {
    for (let n = 0; n < 5; n++) await stack.revoke(await stack.newAgent());
    const whole = await walk({ limit: "200" });
    expect(await walk({ limit: "2" })).toEqual(whole);
    expect(new Set(whole).size).toBe(whole.length);
  });

  test("contains each agent once, also for revocations in the same millisecond", async () => {
    const names = await Promise.all(Array.from({ length: 5 }, stack.newAgent));
    await stack.sql`insert into revocation (agent_id, agent, as_of)
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
    const { body } = await stack.api.call("GET", "/v1/agents?limit=1", { bearer: testBearers.admin });
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

  describe("does not skip a revocation whose transaction is open", () => {
    test("a late commit is found from the as_of of an earlier list", async () => {
      const [late, prompt] = [await stack.newAgent(), await stack.newAgent()];
      const slow = await revokeSlowly(late);
      await stack.revoke(prompt);
      const between = await list();
      const all = await walk();
      expect(all).toContain(prompt);
      expect(all).not.toContain(late);
      await slow.commit();
      const committed = (await stack.identity(late)).body.as_of;
      expect(Date.parse(between.asOf)).toBeLessThanOrEqual(Date.parse(committed));
      expect(await walk({ since: between.asOf })).toEqual(expect.arrayContaining([late, prompt]));
      // Other open transactions on this server hold `as_of` back for a while.
      await waitUntil("as_of to pass it", async () => Date.parse((await list()).asOf) >= Date.parse(committed));
    });

    test("all pages have the first page's as_of, also where it commits in between", async () => {
      const [late, ...prompt] = [await stack.newAgent(), await stack.newAgent(), await stack.newAgent()];
      const slow = await revokeSlowly(late);
      for (const name of prompt) await stack.revoke(name);
      const start = new Date(Date.parse((await stack.identity(prompt[0] ?? "")).body.as_of)).toISOString();
      const first = await list({ since: start, limit: "1" });
      await slow.commit();
      const second = await list({ since: start, limit: "1", cursor: first.next ?? "" });
      expect(second.names).not.toContain(late);
      expect(second.asOf).toBe(first.asOf);
      expect(await walk({ since: second.asOf })).toContain(late);
    });

    test("a reader that continues from each as_of finds every revocation, in any order of commits", async () => {
      const names = await Promise.all(Array.from({ length: 12 }, stack.newAgent));
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
        else await stack.revoke(name);
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
