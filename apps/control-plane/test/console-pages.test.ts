import { denyReasons } from "@svc/core";
import { aManifest, aTool, createDatabase, startFaultProxy, waitUntil } from "@svc/test-support";
import { toolDefinition } from "@svc/tokens";
import { afterAll, describe, expect, test } from "vitest";
import { ids, type Seen, startConsole, unescaped, visitor } from "./console-support.ts";
import { unknownId } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

const { plane, records, look, api, stop } = await startConsole();
afterAll(stop);

describe("decisions", () => {
  test("are paged newest first, each row once", async () => {
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

  test("a cursor of another filter is rejected, as in the API", async () => {
    const page = await look("/console/decisions?limit=1");
    const cursor = /cursor=([\w-]+)/.exec(page.text)?.[1];
    const refused = await look(`/console/decisions?limit=1&outcome=deny&cursor=${cursor}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("filter again for the first page");
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
    ["user_sub", "filtered-person"],
    ["scope", "filtered-scope"],
    ["target", "mcp:filtered/read"],
    ["order", "oldest"],
  ])("%s filters as in the API", async (name, given) => {
    await records.register("filterer", "filtered-scope");
    const other = await records.consent("filtered-scope", "filtered-person");
    await records.record({
      decision: "deny",
      deny_reason: "TAINT_BLOCKED",
      enforced: false,
      acting_agent: "filtered",
      target: "mcp:filtered/read",
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

  test("hides the messages of MCP sessions until they are asked for", async () => {
    const call = { acting_agent: "messenger", target_kind: "tool" };
    const { action_id: message } = await records.record({ ...call, target: "mcp:ledger", data_class: "protocol" });
    const { action_id: used } = await records.record({ ...call, target: "mcp:ledger/read" });
    const page = await look("/console/decisions?agent=messenger");
    expect(ids(page.text)).toEqual([used]);
    const shown = /href="([^"]+)">(?:<bdi>)?Show them/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(ids((await look(shown)).text)).toEqual([used, message]);
    expect(ids((await look("/console/decisions?agent=messenger&protocol=true")).text)).toEqual([message]);
  });

  describe("exported", () => {
    const file = async (extension: string, query: string) => {
      const { status, headers, text } = await look(`/console/decisions.${extension}?${query}`);
      expect([status, headers.get("content-disposition")?.includes(`.${extension}"`)]).toEqual([200, true]);
      return text;
    };

    test("as JSON lines are the rows of the API", async () => {
      const { data } = await api("/v1/audit/decisions?agent=pager");
      const lines = (await file("jsonl", "agent=pager")).trimEnd().split("\n");
      expect(lines.map((line) => JSON.parse(line))).toEqual(data);
    });

    test("as CSV have the same values, and no cell that a spreadsheet takes for a formula", async () => {
      const formulas = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\tx", 'quoted "a", b'];
      for (const target of formulas) await records.record({ acting_agent: "sheet", target });
      const [head = "", ...lines] = (await file("csv", "agent=sheet&order=oldest")).trimEnd().split("\r\n");
      expect(head.split(",")).toContain("deny_reason");
      const at = head.split(",").indexOf("target");
      const cells = lines.map(
        (line) => [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, cell]) => cell)[at],
      );
      expect(cells).toEqual([
        `"'=HYPERLINK(""http://x"",""y"")"`,
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\tx",
        '"quoted ""a"", b"',
      ]);
    });

    test("with a wrong filter lead to the form that shows the fault", async () => {
      const refused = await look("/console/decisions.csv?since=soon");
      expect([refused.status, refused.headers.get("location")]).toEqual([303, "/console/decisions?since=soon"]);
    });
  });

  test("a time can be entered without seconds and offset, and stays in the form", async () => {
    const page = await look("/console/decisions?since=2026-01-31%2012:00&until=2026-02-01");
    expect(page.status).toBe(200);
    expect(page.text).toContain('value="2026-01-31 12:00"');
    expect(page.text).toContain("No decisions match");
    const minuteMs = 60_000;
    const startMs = Math.floor(Date.now() / minuteMs) * minuteMs - 5 * minuteMs;
    const { action_id: id } = await records.record({ decided_at: new Date(startMs + minuteMs / 2) });
    const minute = (at: number) => new Date(startMs + at * minuteMs).toISOString().slice(0, 16).replace("T", " ");
    const shown = async (since: number) =>
      ids(
        (await look(`/console/decisions?${new URLSearchParams({ since: minute(since), until: minute(since + 1) })}`))
          .text,
      );
    expect([await shown(-1), await shown(0), await shown(1)]).toEqual([[], [id], []]);
  });

  test.each([
    ["outcome=perhaps", "f-outcome", "perhaps"],
    ["since=soon", "f-since", "soon"],
    ["since=2026-02-02&until=2026-01-01", "f-since", "2026-02-02"],
    ["last=2h&agent=kept", "f-last", "kept"],
    ["last=1h&until=2026-01-01", "f-last", "2026-01-01"],
    ["nonsense=typed", undefined, "nonsense"],
  ])("?%s keeps the form as it was filled in, with the fault beside its field", async (query, field, typed) => {
    const { status, text } = await look(`/console/decisions?${query}`);
    expect(status).toBe(400);
    expect(text).toContain("This filter cannot be applied");
    expect(text).not.toMatch(/Invalid option|Unrecognized key/);
    expect(text).toContain(typed);
    expect(text).not.toContain("<table");
    const faulty = [
      ...text.matchAll(/<(?:input|select) id="([^"]+)"[^>]* aria-invalid="true" aria-describedby="([^"]+)"/g),
    ];
    expect(faulty.map(([, id]) => id)).toEqual(field === undefined ? [] : [field]);
    for (const [, , fault] of faulty) expect(text).toContain(`<p class="fault" id="${fault}">`);
  });

  test("a relative span begins so long ago, and its pages share that beginning", async () => {
    const agent = "spanner";
    for (const minutes of [5, 30, 45]) {
      await records.record({ acting_agent: agent, decided_at: new Date(Date.now() - minutes * 60_000) });
    }
    const first = await look(`/console/decisions?agent=${agent}&last=1h&limit=2`);
    const next = /<a rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const second = await look(next);
    expect([ids(first.text).length, ids(second.text).length]).toEqual([2, 1]);
    expect(ids((await look(`/console/decisions?agent=${agent}&last=15m`)).text)).toHaveLength(1);
  });

  test("a repeated parameter is rejected with the fault", async () => {
    const refused = await look("/console/decisions?outcome=deny&outcome=allow");
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("<h1>Invalid address</h1>");
  });
});

describe("an action", () => {
  test.each(denyReasons)("denied for %s has the explanation of the API", async (reason) => {
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
    expect(page.match(/(?:yes|no): denied</g)).toHaveLength(1);
    const before = checks.findIndex(({ passed }) => !passed);
    expect(page.match(/<span class="badge allow">(?:yes|no)</g) ?? []).toHaveLength(before);
  });

  test("shows its chain back to the person, as a drawing and as text", async () => {
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
    expect(page).toContain('aria-label="Delegation chain: person ada, then agent planner, then tool mcp:ledger/read"');
    expect(page).toContain("hop 1 · finance.entries");
    expect(ids(page).toSorted()).toEqual([first.action_id, second.action_id].toSorted());
  });

  test("with an incomplete chain shows the hop and the reason", async () => {
    const { action_id: id } = await records.record({ hop: 2, chain: ["planner"], acting_agent: "planner" });
    const page = (await look(`/console/actions/${id}`)).text;
    expect(page).toContain("The chain breaks at hop 2");
    expect(page).toContain("LEGACY_TOKEN");
  });
});

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
