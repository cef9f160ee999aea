import { denyReasons } from "@svc/core";
import { aManifest, aTool, createDatabase, startFaultProxy, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failingReads } from "./console-faults.ts";
import { type Seen, visitor } from "./console-support.ts";
import { recorder, unknownId } from "./decision-rows.ts";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let records: Awaited<ReturnType<typeof recorder>>;
let look: (path: string) => Promise<Seen>;
beforeAll(async () => {
  plane = await startPlane();
  records = await recorder(plane);
  look = visitor(plane.deps).look;
});
afterAll(async () => {
  await records.sql.end();
  await plane.stop();
});

const api = async (path: string) => (await plane.send(path, { token: tokens.audit })).json;
const unescaped = (html: string): string =>
  html
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
const ids = (text: string): string[] => [
  ...new Set([...text.matchAll(/\/console\/actions\/([0-9a-f-]{36})/g)].map(([, id]) => id ?? "")),
];

describe("decisions", () => {
  test("lead on by the signed cursor, each once and newest first", async () => {
    const written = [];
    for (let at = 0; at < 7; at += 1) written.unshift((await records.record({ acting_agent: "pager" })).action_id);
    const seen: string[] = [];
    let path: string | undefined = "/console/decisions?agent=pager&limit=3";
    while (path !== undefined) {
      const page: Seen = await look(path);
      seen.push(...ids(page.text));
      path = /<a rel="next" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&");
    }
    expect(seen).toEqual(written);
  });

  test("a cursor of another filter is refused, as by the API", async () => {
    const page = await look("/console/decisions?limit=1");
    const cursor = /cursor=([\w-]+)/.exec(page.text)?.[1];
    const refused = await look(`/console/decisions?limit=1&outcome=deny&cursor=${cursor}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("next_cursor of a page with the same filters");
  });

  test.each([
    ["outcome", "deny"],
    ["deny_reason", "TAINT_BLOCKED"],
    ["enforced", "false"],
    ["agent", "filtered"],
    ["target_kind", "tool"],
    ["privileged", "true"],
    ["taint", "untrusted_external"],
    ["session_id", ""],
  ])("%s selects what it selects in the API", async (name, given) => {
    const other = await records.consent();
    await records.record({
      decision: "deny",
      deny_reason: "TAINT_BLOCKED",
      enforced: false,
      acting_agent: "filtered",
      target: "mcp:ledger/read",
      target_kind: "tool",
      privileged: true,
      taint: "untrusted_external",
      session_id: other,
    });
    const value = given === "" ? other : given;
    const expected = (await api(`/v1/audit/decisions?${name}=${value}`)).data as unknown as { action_id: string }[];
    const shown = ids((await look(`/console/decisions?${name}=${value}&since=&until=`)).text);
    expect(expected.length).toBeGreaterThan(0);
    expect(shown).toEqual(expected.map(({ action_id: id }) => id));
  });

  test("an instant may be typed as people do, and stays in the form", async () => {
    const page = await look("/console/decisions?since=2026-01-31%2012:00&until=2026-02-01");
    expect(page.status).toBe(200);
    expect(page.text).toContain('value="2026-01-31 12:00"');
    expect(page.text).toContain("No decision is like this");
  });

  test.each([
    "outcome=perhaps",
    "since=soon",
    "nonsense=1",
    "outcome=deny&outcome=allow",
    "since=2026-02-02&until=2026-01-01",
  ])("?%s is refused with what is wrong with it", async (query) => {
    const refused = await look(`/console/decisions?${query}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("<h1>That address cannot be read</h1>");
  });
});

describe("an action", () => {
  test.each(denyReasons)("denied for %s is explained as by the API", async (reason) => {
    const { action_id: id } = await records.record({
      decision: "deny",
      deny_reason: reason,
      target: "http:crm/read",
      target_kind: "tool",
    });
    const { checks, remedy } = (await api(`/v1/audit/actions/${id}/explanation`)) as unknown as {
      checks: { check: string; passed: boolean }[];
      remedy: string;
    };
    const page = unescaped((await look(`/console/actions/${id}`)).text);
    expect(page).toContain(`(${reason})`);
    expect(page).toContain(remedy);
    expect(page.match(/no: this decided/g)).toHaveLength(1);
    const before = checks.findIndex(({ passed }) => !passed);
    expect(page.match(/<span class="badge allow">yes/g) ?? []).toHaveLength(before);
  });

  test("is drawn back to the human, hop by hop, and said in words beside it", async () => {
    const first = await records.record();
    await records.spend(first.action_id);
    const second = await records.record({
      hop: 2,
      chain: ["planner"],
      acting_agent: "planner",
      target: "mcp:ledger/read",
      target_kind: "tool",
      parent_action_id: first.action_id,
    });
    const page = (await look(`/console/actions/${second.action_id}`)).text;
    expect(page).toContain('aria-label="Delegation chain: human ada, then agent planner, then tool mcp:ledger/read"');
    expect(page).toContain("hop 1 · finance.entries");
    expect(ids(page).toSorted()).toEqual([first.action_id, second.action_id].toSorted());
  });

  test("whose chain is broken says where and why", async () => {
    const { action_id: id } = await records.record({ hop: 2, chain: ["planner"], acting_agent: "planner" });
    const page = (await look(`/console/actions/${id}`)).text;
    expect(page).toContain("The chain breaks at hop 2");
    expect(page).toContain("LEGACY_TOKEN");
  });
});

describe("what enforcing would block", () => {
  test("is grouped as by the API, with the manifest that would admit each group and the command", async () => {
    const observed = {
      hop: 2,
      chain: ["planner"],
      acting_agent: "planner",
      target_kind: "tool",
      decision: "deny",
      enforced: false,
    };
    for (const target of ["http:crm/read", "http:crm/read", "http:mail/send"]) {
      await records.record({ ...observed, target, data_class: "people", deny_reason: "TARGET_NOT_DECLARED" });
    }
    const page = unescaped((await look("/console/would-block?scope=expenses")).text);
    const groups = (await api("/v1/audit/would-block?scope=expenses")).data as unknown as {
      target: string;
      count: number;
    }[];
    for (const { target } of groups) expect(page).toContain(`<code>${target}</code>`);
    expect(page).toContain('+          "ref": "http:crm/read",');
    expect(page).toContain('svc manifest submit planner.json --override "why it can be trusted"');
    expect(page).toContain("All of it at once");
    expect(page).toContain("may then call it, with any parameters");
  });

  test("of all scopes asks for a scope, since a change belongs to one", async () => {
    const page = (await look("/console/would-block")).text;
    expect(page).toContain('href="/console/would-block?scope=expenses"');
    expect(page).not.toContain("svc manifest submit");
  });
});

test("a scope is shown in words, as a graph and as tables, and its older versions stay readable", async () => {
  const manifest = aManifest("expenses", {
    tools: [aTool("mcp:ledger/read"), aTool("mcp:ledger/post", { access: "write", privileged: true })],
    downstream_agents: ["clerk"],
  });
  await plane.send("/v1/manifests", { body: { agent: "planner", manifest, override: {} } });
  await plane.send("/v1/agents", { body: { name: "clerk", manifest: aManifest("expenses"), override: {} } });
  const page = (await look("/console/scope?name=expenses")).text;
  expect(page).toContain("bound to its exact parameters");
  expect(page).toMatch(/<text class="name"[^>]*>clerk</);
  const before = await look("/console/scope?name=expenses&version=1");
  expect(before.text).toContain("Version 1 is not the present one");
  expect(before.text).not.toContain("mcp:ledger/post");
});

test("an agent's manifests are shown with what changed between them and what the reconciliation found", async () => {
  const page = unescaped((await look("/console/agents/planner")).text);
  expect(page).toContain("Changes since version 1");
  expect(page).toMatch(/<ins>\+ +"ref": "mcp:ledger\/post",/);
  expect(page).toContain("undiscovered");
});

test("what is denied for now is shown with its reason, and who said so", async () => {
  await plane.send("/v1/blocks/tool/mcp:ledger", { method: "PUT", body: { reason: "it is hostile" } });
  await plane.send("/v1/agents", { body: { name: "thief", manifest: aManifest("expenses"), override: {} } });
  const { agent_id: id } = (await plane.send("/v1/agents/resolve?name=thief")).json;
  await plane.send(`/v1/agents/${id}/revoke`, { body: { reason: "stolen key" } });
  await plane.send(`/v1/sessions/${await records.consent()}/revoke`, { body: { reason: "by mistake" } });
  const page = (await look("/console/denials")).text;
  for (const text of ["it is hostile", "stolen key", "by mistake", "alice"]) expect(page).toContain(text);
  expect((await look("/console")).text).toContain("it is hostile");
});

test("a session is shown with its end, its marks and its decisions", async () => {
  const sessionId = await records.consent();
  const { action_id: id } = await records.record({ session_id: sessionId });
  await records.sql`insert into taint_mark (session_id, member, source, action_id, marked_at)
    values (${sessionId}, null, 'mcp:web/fetch', ${id}, now())`;
  const page = (await look(`/console/sessions/${sessionId}`)).text;
  expect(page).toContain("the human, and so every chain");
  expect(page).toContain("mcp:web/fetch");
  expect(ids(page)).toEqual([id]);
});

describe("where there is nothing", () => {
  test.each([
    [`/console/actions/${unknownId}`, "action"],
    ["/console/actions/none", "action"],
    [`/console/sessions/${unknownId}`, "session"],
    ["/console/agents/nobody", "agent"],
    ["/console/scope?name=nowhere", "scope"],
    ["/console/scope?name=expenses&version=99", "policy version"],
    ["/console/nowhere", "page"],
  ])("%s says so with 404 and where to look", async (path, what) => {
    const page = await look(path);
    expect(page.status).toBe(404);
    expect(page.text).toContain(`<h1>There is no such ${what}</h1>`);
  });

  test("an empty service says on each page what brings the first thing", async () => {
    const fresh = await startPlane();
    const there = visitor(fresh.deps);
    try {
      for (const path of [
        "/console",
        "/console/decisions",
        "/console/would-block",
        "/console/scopes",
        "/console/agents",
        "/console/sessions",
        "/console/denials",
      ]) {
        const page = await there.look(path);
        expect(page.status).toBe(200);
        expect(page.text).toContain('<p class="empty">');
      }
    } finally {
      await fresh.stop();
    }
  });
});

test.each(["/console/sign-in", "/console/decisions"])(
  "a method that %s does not take is 405 with those it takes",
  async (path) => {
    const refused = await visitor(plane.deps).ask(path, {
      method: "DELETE",
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(refused.status).toBe(405);
    expect(refused.headers.get("allow")).toContain("GET");
  },
);

describe("when a page cannot be made", () => {
  test.each([
    "/console",
    "/console/decisions",
    `/console/actions/${unknownId}`,
    "/console/would-block",
    "/console/scopes",
    "/console/scope?name=expenses",
    "/console/agents",
    "/console/agents/planner",
    "/console/sessions",
    `/console/sessions/${unknownId}`,
    "/console/denials",
  ])("%s says with 503 that the database is down, and what to do", async (path) => {
    const page = await visitor(failingReads(plane.deps, { code: "database_unavailable" })).look(path);
    expect(page.status).toBe(503);
    expect(page.headers.get("retry-after")).toBe("1");
    expect(page.text).toContain("The database does not answer");
    expect(page.text).toContain("DATABASE_URL");
  });

  test("a database that goes away and comes back is a page of 503, and then the pages again", async () => {
    const database = await createDatabase();
    const direct = new URL(database.appUrl);
    const proxy = await startFaultProxy(Number(direct.port || 5432));
    const through = Object.assign(direct, { hostname: "127.0.0.1", port: String(proxy.port) }).href;
    const behind = await startPlane({ DATABASE_URL: through, SVC_MIGRATION_DATABASE_URL: database.ownerUrl });
    const there = visitor(behind.deps);
    try {
      expect((await there.look("/console")).status).toBe(200);
      await proxy.refuse();
      const page = await there.look("/console");
      expect(page.status).toBe(503);
      expect(page.text).toContain("DATABASE_URL");
      await proxy.accept();
      await waitUntil("the pages to be back", async () => (await there.look("/console")).status === 200);
    } finally {
      await behind.stop();
      await proxy.stop();
      await database.drop();
    }
  });

  test("an unforeseen fault is told without its cause, and reported", async () => {
    const reported: unknown[] = [];
    const broken = failingReads(plane.deps, { code: "EWHATEVER" });
    const events = { ...plane.deps.events, requestFailed: (fault: unknown) => void reported.push(fault) };
    const page = await visitor({ ...broken, events }).look("/console/decisions");
    expect(page.status).toBe(500);
    expect(page.text).not.toContain("secret-of-the-cause");
    expect(reported).toHaveLength(1);
  });

  test.each([
    ["cache_store", "Not ready: cache store", "refused until it answers"],
    ["restore", "Not ready: restore", "Raise the issuer's epoch"],
  ] as const)("what is not ready is named, with what to do: %s", async (name, title, advice) => {
    const probes = [{ name, check: () => Promise.reject(new Error("down")) }];
    const page = await visitor({ ...plane.deps, probes }).look("/console");
    expect(page.status).toBe(200);
    for (const part of [title, advice]) expect(page.text).toContain(part);
  });
});
