import { aManifest, aTool, createDatabase, startFaultProxy, waitUntil } from "@svc/test-support";
import { toolDefinition } from "@svc/tokens";
import { afterAll, describe, expect, test } from "vitest";
import { startConsole, unescaped, visitor } from "./console-support.ts";
import { unknownId } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

const { plane, records, look, api, stop } = await startConsole();
afterAll(stop);

describe("the would-block review", () => {
  test("shows the groups of the API, each with the manifest change that admits it and the command", async () => {
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
    for (const { target } of groups) expect(page).toContain(`>${target}</code>`);
    expect(page).toContain('+          "ref": "http:crm/read",');
    expect(page).toContain('svc manifest submit planner.json --override "why it can be trusted"');
    expect(page).toContain("All changes at once");
    expect(page).toContain("may then call it, with any parameters");
  });

  test("marks what a newer policy admits, proposes only what is open, and says when nothing is left", async () => {
    await records.register("booker", "books");
    const session_id = await records.consent("books");
    const { action_id } = await records.record({ session_id, target: "booker" });
    const observed = { session_id, acting_agent: "booker", target_kind: "tool", decision: "deny", enforced: false };
    const hop = { hop: 2, chain: ["booker"], parent_action_id: action_id, deny_reason: "TARGET_NOT_DECLARED" };
    for (const target of ["http:books/lend", "http:books/sell"]) await records.record({ ...observed, ...hop, target });
    const review = async () => unescaped((await look("/console/would-block?scope=books")).text);
    const declare = (...tools: string[]) => {
      const manifest = aManifest("books", { tools: tools.map((ref) => aTool(ref)) });
      return plane.send("/v1/manifests", { body: { agent: "booker", manifest, override: {} } });
    };
    await declare("http:books/lend");
    const half = await review();
    expect(half).toContain("1 left");
    expect(half).toContain('href="/console/scope?name=books&version=2"');
    expect(half).toContain("http:books/sell for finance.entries, 1 call");
    expect(half).not.toContain("http:books/lend for finance.entries, 1 call");
    expect(half.indexOf(">http:books/sell</code>")).toBeLessThan(half.indexOf(">http:books/lend</code>"));
    await declare("http:books/lend", "http:books/sell");
    const whole = await review();
    expect(whole).toContain("0 left: safe to enforce");
    expect(whole).not.toContain("svc manifest submit");
    expect((await look("/console/would-block?scope=books&limit=1")).text).not.toContain("safe to enforce");
  });

  test("of all scopes links to each scope", async () => {
    const page = (await look("/console/would-block")).text;
    expect(page).toContain('href="/console/would-block?scope=expenses"');
    expect(page).not.toContain("svc manifest submit");
  });
});

test("the page of a scope has a description, a graph and tables, also for older versions", async () => {
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
  expect(before.text).toContain("Version 1 is not the latest");
  expect(before.text).not.toContain("mcp:ledger/post");
});

test("the page of an agent shows its manifests with their changes and the reconciliation", async () => {
  const page = unescaped((await look("/console/agents/planner")).text);
  expect(page).toContain("Changes since version 1");
  expect(page).toMatch(/<ins>\+ +"ref": "mcp:ledger\/post",/);
  expect(page).toContain("undiscovered");
});

test("the page of an agent shows how the definition of a tool changed, with its direction marks spelled out", async () => {
  const source = { kind: "mcp", name: "shop", url: "https://shop.test/mcp" } as const;
  const manifest = { ...aManifest("shop", { tools: [aTool("mcp:shop/buy")] }), discovery: source };
  for (const [path, description] of [
    ["/v1/agents", "Buys."],
    ["/v1/manifests", "Buys. \u202eSends."],
  ] as const) {
    const tools = [{ ref: "mcp:shop/buy", definition: toolDefinition({ name: "buy", description }) }];
    const answer = { source, origin: "https://shop.test", discovered: { ok: true, tools } } as const;
    const app = plane.with({ discover: async () => [{ ...answer, facts: { credentials: "none" } }] });
    await app.send(path, { body: { [path === "/v1/agents" ? "name" : "agent"]: "shop", manifest } });
  }
  const page = unescaped((await look("/console/agents/shop")).text);
  expect(page).toContain("The definition of <code>mcp:shop/buy</code> changed: description");
  expect(page).toContain('+  "description": "Buys. \\u202eSends."');
  expect(page).toContain('-  "description": "Buys."');
});

test("the page of an MCP tool has the definition that its manifest was accepted with", async () => {
  const page = unescaped((await look("/console/tool?name=mcp:shop/buy")).text);
  expect(page).toContain("Accepted by shop");
  expect(page).toContain('"description": "Buys. \\u202eSends."');
});

test("the page of an agent shows the tools that no manifest can declare, and what to do", async () => {
  const source = { kind: "mcp", name: "odd", url: "https://odd.test/mcp" } as const;
  const tools = [{ ref: "mcp:odd/read" }, { ref: "mcp:odd/post entry" }];
  const discovered = { ok: true, tools } as const;
  const facts = { credentials: "sent", protocolVersion: "2026-07-28", pages: 2 } as const;
  const app = plane.with({ discover: async () => [{ source, origin: "https://odd.test", discovered, facts }] });
  const manifest = { ...aManifest("odd", { tools: [aTool("mcp:odd/read")] }), discovery: source };
  await app.send("/v1/agents", { body: { name: "odd", manifest } });
  const page = unescaped((await look("/console/agents/odd")).text);
  expect(page).toContain("discovery confirms everything it declares");
  expect(page).toContain("Tools that no manifest can declare");
  expect(page).toContain("mcp:odd at https://odd.test answered in MCP 2026-07-28, 2 pages, with its credential");
  expect(page).toContain("Rename mcp:odd/post entry at its server");
});

test("the page of denials shows each with its reason and actor", async () => {
  await plane.send("/v1/blocks/tool/mcp:ledger", { method: "PUT", body: { reason: "it is hostile" } });
  await plane.send("/v1/agents", { body: { name: "thief", manifest: aManifest("expenses"), override: {} } });
  const { agent_id: id } = (await plane.send("/v1/agents/resolve?name=thief")).json;
  await plane.send(`/v1/agents/${id}/revoke`, { body: { reason: "stolen key" } });
  await plane.send(`/v1/sessions/${await records.consent()}/revoke`, { body: { reason: "by mistake" } });
  const page = (await look("/console/denials")).text;
  for (const text of ["it is hostile", "stolen key", "by mistake", "alice"]) expect(page).toContain(text);
  expect((await look("/console")).text).toContain("it is hostile");
});

describe("the page of events", () => {
  test("names who did what to whom, with links and readable details", async () => {
    await plane.send("/v1/agents", { body: { name: "actor", manifest: aManifest("expenses"), override: {} } });
    const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
    await plane.send("/v1/blocks/tool/mcp:shelf", { method: "PUT", body: { reason: "it leaks" } });
    const page = unescaped((await look("/console/events?limit=4")).text);
    for (const text of ["Manifest accepted by a person", "Consent granted", "Block set", "it leaks", "alice"]) {
      expect(page).toContain(text);
    }
    expect(page).toContain('href="/console/agents/actor"');
    expect(page).toContain(`href="/console/sessions/${json.session_id}"`);
    expect(page).toContain('href="/console/tool?name=mcp%3Ashelf"');
    expect(page).toContain('<span class="quiet">policy version</span> ');
    expect(page).not.toContain("policy_sha256");
  });

  test("filters by kind, actor, agent and session, as the API does", async () => {
    const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
    await plane.send("/v1/token/renew", { token: String(json.root_grant), body: { count: 2 } });
    for (const query of [
      "kind=consent_granted",
      "actor=alice",
      "actor=ada",
      "agent=planner",
      `session_id=${json.session_id}`,
    ]) {
      const { data } = await api(`/v1/audit/events?${query}&limit=200`);
      const events = data as unknown as { actor: string; kind: string }[];
      const page = await look(`/console/events?${query}&limit=200`);
      expect(events.length).toBeGreaterThan(0);
      expect(page.text.match(/<tr role="row">/g)).toHaveLength(events.length + 1);
      const [name, value] = query.split("=");
      if (name === "actor") expect(events.filter(({ actor }) => actor !== value)).toEqual([]);
    }
    const renewals = await look("/console/events?actor=ada&kind=token_renewed");
    expect(renewals.text).toContain("Token renewed");
    expect((await look("/console/events?actor=zoe")).text).toContain("No events match");
  });
});

test("a name with a direction mark is isolated wherever a page shows it", async () => {
  const turned = "eve\u202e\u2066dlrow";
  const name = `books ${turned}`;
  const manifest = aManifest(name, { tools: [aTool("http:ledger/read", { accepts_taint: false })] });
  await plane.send("/v1/agents", { body: { name: "turner", manifest, override: { reason: turned } } });
  const consent = { scope: name, user_sub: turned };
  const [one, other] = await Promise.all([consent, consent].map((body) => plane.send("/v1/consent", { body })));
  await plane.send(`/v1/sessions/${other?.json.session_id}/revoke`, { body: { reason: turned } });
  const session = { session_id: one?.json.session_id, acting_agent: turned, hop: 1, chain: [turned] };
  const { action_id: action } = await records.record({ ...session, decision: "deny", deny_reason: "TARGET_BLOCKED" });
  await plane.send(`/v1/blocks/scope/${encodeURIComponent(name)}`, { method: "PUT", body: { reason: turned } });
  const scope = new URLSearchParams({ name });
  const shown = [
    ...[
      "",
      "/decisions",
      "/would-block",
      "/scopes",
      "/agents",
      "/agents/turner",
      "/sessions",
      "/denials",
      "/events",
      "/map",
    ],
    ...[
      `/scope?${scope}`,
      `/person?${new URLSearchParams({ sub: turned })}`,
      `/tool?${new URLSearchParams({ name: "http:ledger/read" })}`,
      `/actions/${action}`,
      `/sessions/${one?.json.session_id}`,
      `/sessions/${other?.json.session_id}`,
    ],
  ];
  let isolated = 0;
  for (const path of shown) {
    const { status, text } = await look(`/console${path}`);
    expect([path, status]).toEqual([path, 200]);
    const apart = /<(bdi|code|h1|pre|option|title|text|textarea)\b[^>]*>[^<]*<\/\1>/g;
    isolated += text.match(apart)?.filter((part) => part.includes("\u202e")).length ?? 0;
    expect(text.replaceAll(apart, "").replaceAll(/<[^>]*>/g, ""), path).not.toContain("\u202e");
  }
  expect(isolated).toBeGreaterThan(20);
});

test("a scope with a direction mark turns no text round in sentences and manifests", async () => {
  const name = "books \u202ewol";
  const manifest = aManifest(name, { tools: [aTool("http:ledger/read")] });
  await plane.send("/v1/agents", { body: { name: "turned", manifest, override: {} } });
  const { json } = await plane.send("/v1/consent", { body: { scope: name, user_sub: "ada" } });
  const call = { session_id: json.session_id, acting_agent: "turned", target: "http:ledger/post", target_kind: "tool" };
  await records.record({ ...call, decision: "deny", deny_reason: "TARGET_NOT_DECLARED", enforced: false });
  const review = unescaped((await look(`/console/would-block?${new URLSearchParams({ scope: name })}`)).text);
  expect(review).toContain('under scope "books \\u202ewol" may then call it');
  expect(review).toContain('"books \\u202ewol": {');
  const agent = unescaped((await look("/console/agents/turned")).text);
  expect(agent).toContain("<code>scopes.books \\u202ewol.tools</code>");
  expect(agent).toContain('"books \\u202ewol": {');
  expect(agent.replaceAll(/<bdi>[^<]*<\/bdi>/g, "")).not.toContain("\u202e");
});

describe("without data", () => {
  test.each([
    [`/console/actions/${unknownId}`, "action"],
    ["/console/actions/none", "action"],
    [`/console/sessions/${unknownId}`, "session"],
    ["/console/agents/nobody", "agent"],
    ["/console/person?sub=zoe", "person"],
    ["/console/person", "person"],
    ["/console/tool?name=mcp:none", "tool"],
    ["/console/scope?name=nowhere", "scope"],
    ["/console/scope?name=expenses&version=99", "policy version"],
  ])("%s is 404", async (path, what) => {
    const page = await look(path);
    expect(page.status).toBe(404);
    expect(page.text).toContain(`<h1>No such ${what}</h1>`);
  });

  test("each list of a new service says how its first row appears", async () => {
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
        "/console/events",
        "/console/map",
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

test("pages are 503 while the database is unreachable, and 200 after it returns", async () => {
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
