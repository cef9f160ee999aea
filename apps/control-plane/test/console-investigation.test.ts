import { checkProof } from "@svc/seals";
import { aManifest, aTool } from "@svc/test-support";
import { verificationKeyOf } from "@svc/tokens";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectForAudit } from "../src/start/stores.ts";
import { ids, startConsole, unescaped, visitor } from "./console-support.ts";
import { unknownId } from "./decision-rows.ts";
import { aKey, sealEverything, sealer } from "./sealing.ts";

const { plane, records, look, api, stop } = await startConsole();
afterAll(stop);

describe("the search", () => {
  const to = async (text: string) => {
    const { status, headers, text: page } = await look(`/console/search?${new URLSearchParams({ q: text })}`);
    return { status, location: headers.get("location"), page };
  };
  let found: { action: string; session: string; event: string };
  beforeAll(async () => {
    await records.register("sought-agent", "sought-scope");
    const session = await records.consent("sought-scope", "sought person");
    const sought = { session_id: session, target: "mcp:sought/tool", target_kind: "tool" };
    const { action_id: action } = await records.record(sought);
    await plane.send(`/v1/sessions/${session}/revoke`, { body: { reason: "sought reason" } });
    const [event] = (await api(`/v1/audit/events?session_id=${session}&kind=session_revoked`)).data as unknown as {
      event_id: string;
    }[];
    found = { action, session, event: event?.event_id ?? "" };
  });

  test.each<[string, () => string, () => string]>([
    ["an action's id", () => found.action, () => `/console/actions/${found.action}`],
    [
      "the end of an action's id, as pages show it",
      () => `…${found.action.slice(-8)}`,
      () => `/console/actions/${found.action}`,
    ],
    ["a session's id in capitals", () => found.session.toUpperCase(), () => `/console/sessions/${found.session}`],
    ["the end of a session's id", () => found.session.slice(-8), () => `/console/sessions/${found.session}`],
    ["an agent", () => "sought-agent", () => "/console/agents/sought-agent"],
    ["a scope", () => " sought-scope ", () => "/console/scope?name=sought-scope"],
    ["a person", () => "sought person", () => "/console/person?sub=sought+person"],
    ["a tool", () => "mcp:sought/tool", () => "/console/tool?name=mcp%3Asought%2Ftool"],
    ["a part of a tool's name in capitals", () => "SOUGHT/", () => "/console/tool?name=mcp%3Asought%2Ftool"],
    ["a deny reason", () => "TAINT_BLOCKED", () => "/console/decisions?deny_reason=TAINT_BLOCKED"],
  ])("for %s leads to its page", async (_what, text, path) => {
    expect(await to(text())).toMatchObject({ status: 303, location: path() });
  });

  test.each([() => found.event, () => found.event.slice(-8), () => "sought reason"])(
    "for an event's id, its end or its reason leads to the list that has it",
    async (text) => {
      const { location } = await to(text());
      expect((await look(location ?? "")).text).toContain("sought reason");
    },
  );

  test("with several matches lists them by kind, whole names first, and says how far back it looked", async () => {
    const { status, page } = await to("sought");
    expect(status).toBe(200);
    const kinds = [...page.matchAll(/<td role="cell" data-head="Kind"[^>]*><div>(?:<bdi>)?([^<]+)/g)].map(
      ([, kind]) => kind,
    );
    expect(new Set(kinds)).toEqual(new Set(["agent", "scope", "person", "tool", "event"]));
    expect(page).toContain("among the newest 20,000");
  });

  test("with several whole names lists these before names that contain them", async () => {
    await records.register("a-twin", "more twin");
    await records.register("twin", "twin");
    const { page } = await to("twin");
    const names = [...page.matchAll(/data-head="Name"[^>]*><div><a href="[^"]+">(?:<bdi>)?<code>([^<]+)/g)];
    expect(names.map(([, name]) => name)).toEqual(["twin", "twin", "a-twin", "more twin"]);
  });

  test.each(["%", "_x_", "no such name", "\\", "\u0000", "deadbeefdeadbeef"])(
    "for %j finds nothing, with advice",
    async (text) => {
      const { status, page } = await to(text);
      expect(status).toBe(200);
      expect(page).toContain("No matches.");
    },
  );
});

describe("the page of", () => {
  const hostile = '<script>alert("1")</script>';
  const personPage = (sub: string) => `/console/person?${new URLSearchParams({ sub })}`;
  const toolPage = (name: string) => `/console/tool?${new URLSearchParams({ name })}`;

  test("a person has their sessions, who acted for them, denials and decisions, and what they did", async () => {
    const session_id = await records.consent("expenses", hostile);
    const call = { session_id, hop: 2, chain: ["planner"], acting_agent: "planner", target_kind: "tool" };
    const { action_id: entry } = await records.record({ session_id, acting_agent: hostile });
    const { action_id: allowed } = await records.record({ ...call, target: "mcp:ledger/read" });
    const denied = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED" };
    const { action_id: refused } = await records.record({ ...call, ...denied, target: "mcp:ledger/post" });
    await records.record({ acting_agent: "planner", target: "mcp:other/tool", target_kind: "tool", hop: 2 });
    const { text } = await look(personPage(hostile));
    expect(text).not.toContain("<script>alert");
    const page = unescaped(text);
    expect(page).toContain("1 active session among the newest 1");
    for (const path of [`/console/sessions/${session_id}`, "/console/agents/planner", toolPage("mcp:ledger/read")]) {
      expect(page).toContain(`href="${path}"`);
    }
    expect(page).toContain("does not declare the target");
    const tools = page.slice(page.indexOf("Tools that were called"), page.indexOf("<h2>Deny reasons"));
    for (const tool of ["mcp:ledger/read", "mcp:ledger/post"]) expect(tools).toContain(`href="${toolPage(tool)}"`);
    expect(ids(page)).toEqual([refused, allowed, entry]);
    expect(page).not.toContain("mcp:other/tool");
    expect(page).toContain(`href="/console/decisions?${new URLSearchParams({ user_sub: hostile })}"`);
  });

  test("a tool has its declarations, callers, people, reasons and blocks", async () => {
    const tool = "mcp:vault/open";
    const declared = aManifest("vaults", { tools: [aTool(tool, { privileged: true })] });
    await plane.send("/v1/agents", { body: { name: "keeper", manifest: declared, override: {} } });
    const session_id = await records.consent("vaults", "vera");
    const call = { session_id, hop: 2, chain: ["keeper"], acting_agent: "keeper", target: tool, target_kind: "tool" };
    const { action_id: id } = await records.record(call);
    await records.record({ ...call, decision: "deny", deny_reason: "TARGET_BLOCKED" });
    const before = unescaped((await look(toolPage(tool))).text);
    expect(before).toContain('Blocked? <span class="badge allow">no</span>');
    await plane.send("/v1/blocks/tool/mcp:vault", { method: "PUT", body: { reason: "it was opened" } });
    const page = unescaped((await look(toolPage(tool))).text);
    expect(page).toContain('Blocked? <span class="badge deny">yes</span>');
    for (const text of [
      "it was opened",
      "/console/agents/keeper",
      "/console/scope?name=vaults",
      "yes, bound",
      "vera",
    ]) {
      expect(page).toContain(text);
    }
    expect(ids(page)).toContain(id);
    expect(page).toContain(
      `/console/decisions?${new URLSearchParams({ target: tool, deny_reason: "TARGET_BLOCKED" })}`,
    );
  });

  test.each([
    ["tool", "mcp:zoo/open", "/console/tool?name=mcp:zoo/open"],
    ["agent", "zookeeper", "/console/agents/zookeeper"],
    ["scope", "zoos", "/console/scope?name=zoos"],
  ])("a blocked %s says so beside any number of other blocks", async (kind, name, path) => {
    await records.register("zookeeper", "zoos");
    const sql = postgres(plane.database.superuserUrl, { max: 1, onnotice: () => {} });
    await sql`
      insert into block (kind, ref, reason, created_at)
      select 'agent', 'other-' || n, 'one of many', now() from generate_series(1, 300) n on conflict do nothing`;
    const at = `/v1/blocks/${kind}/${encodeURIComponent(name)}`;
    await plane.send(at, { method: "PUT", body: { reason: "it escaped" } });
    const { text } = await look(path);
    await sql`delete from block where reason in ('one of many', 'it escaped')`;
    await sql.end();
    expect(text).toContain("it escaped");
  });

  test("an agent has its activity, targets and callers, and says which manifest is in force", async () => {
    const page = unescaped((await look("/console/agents/keeper")).text);
    expect(page).toContain('<dt>Revoked?</dt><dd><span class="badge allow">no</span>');
    expect(page).toContain("version 1 in force");
    expect(page).toContain('aria-label="Decisions over time: 1 allowed, 1 denied, 0 would block"');
    expect(page).toContain(`href="${toolPage("mcp:vault/open")}"`);
    expect(page).toMatch(/data-head="Caller"><div>(<bdi>)?people/);
    const unknown = aManifest("vaults", { tools: [aTool("mcp:vault/open"), aTool("mcp:vault/close")] });
    const source = { kind: "mcp", name: "vault", url: "https://vault.test/mcp" } as const;
    const answer = {
      source,
      origin: "https://vault.test",
      discovered: { ok: true, tools: [{ ref: "mcp:vault/open" }] },
    };
    const app = plane.with({ discover: async () => [{ ...answer, facts: { credentials: "none" } }] as never });
    await app.send("/v1/manifests", { body: { agent: "keeper", manifest: { ...unknown, discovery: source } } });
    const after = unescaped((await look("/console/agents/keeper")).text);
    expect(after).toContain("Version 1 is in force, not the newest");
    expect(after).toContain("From version 1, in force, to version 2");
  });

  test("the overview has the busiest names, the change, the active sessions and the sealing", async () => {
    const page = unescaped((await look("/console?span=1h")).text);
    for (const path of ["/console/agents/keeper", toolPage("mcp:vault/open"), personPage("vera")]) {
      expect(page).toContain(`href="${path}"`);
    }
    expect(page).toContain('title="0 in the same part of the span before"');
    expect(page).toMatch(/<dt>Active sessions<\/dt><dd><a href="\/console\/sessions\?status=active">(<bdi>)?\d+/);
    expect(page).toMatch(/Last seal none yet\. \d+ decisions are not sealed yet/);
  });

  test("the map shows each connection with its rate and its denied calls, around one node too", async () => {
    const page = unescaped((await look("/console/map?span=24h")).text);
    expect(page).toMatch(/<text class="flow deny"[^>]*><title>keeper<\/title>keeper: <0.1\/min · 1 denied<\/text>/);
    expect(page).toContain('href="/console/map?span=24h&tool=mcp%3Avault%2Fopen"');
    const around = unescaped((await look("/console/map?agent=keeper&show=denied")).text);
    expect(around).toContain("mcp:vault/open");
    expect(around).not.toContain("mcp:ledger/read");
    for (const query of ["span=2h", "agent=a&tool=b", "show=all", "nonsense=1"]) {
      expect((await look(`/console/map?${query}`)).status).toBe(400);
    }
  });
});

describe("the page of a session", () => {
  test("is a tree of its calls with totals, and marks denials and where taint begins and is carried", async () => {
    const sessionId = await records.consent();
    const call = { session_id: sessionId };
    const first = await records.record(call);
    await records.spend(first.action_id);
    const byPlanner = {
      ...call,
      hop: 2,
      chain: ["planner"],
      acting_agent: "planner",
      parent_action_id: first.action_id,
    };
    const tool = { target_kind: "tool", data_class: "web" };
    const fetched = await records.record({ ...byPlanner, ...tool, target: "mcp:web/fetch" });
    const handed = await records.record({
      ...{ ...byPlanner, target: "clerk", taint: "untrusted_external", taint_source: "mcp:web/fetch" },
    });
    const denied = await records.record({
      ...{ ...call, ...tool, hop: 3, chain: ["planner", "clerk"], acting_agent: "clerk", target: "mcp:ledger/post" },
      ...{ parent_action_id: handed.action_id, decision: "deny", deny_reason: "TAINT_BLOCKED" },
      ...{ taint: "untrusted_external", taint_source: "mcp:web/fetch" },
    });
    const orphan = await records.record({ ...byPlanner, ...tool, target: "mcp:web/late", parent_action_id: unknownId });
    await records.sql`insert into taint_mark (session_id, member, source, action_id, marked_at)
      values (${sessionId}, null, 'mcp:web/fetch', ${fetched.action_id}, now())`;
    const { text } = await look(`/console/sessions/${sessionId}`);
    const rows = [...text.matchAll(/<tr role="row"><td role="cell" data-head="Call".*?<\/tr>/gs)].map(([row]) => ({
      id: ids(row)[0],
      depth: row.split('class="rail').length - 1,
      taint: /begins here|carried/.exec(row)?.[0],
      isDenied: row.includes(">denied<"),
    }));
    expect(rows).toEqual([
      { id: first.action_id, depth: 0, taint: undefined, isDenied: false },
      { id: fetched.action_id, depth: 1, taint: "begins here", isDenied: false },
      { id: handed.action_id, depth: 1, taint: "carried", isDenied: false },
      { id: denied.action_id, depth: 2, taint: "carried", isDenied: true },
      { id: orphan.action_id, depth: 0, taint: undefined, isDenied: false },
    ]);
    const figure = (name: string) => new RegExp(`<dt>${name}</dt><dd>([^<]*)`).exec(text)?.[1];
    const names = ["Decisions", "Denied", "Would block", "Agents", "Tools", "Spent tokens", "Longest chain"];
    expect(names.map(figure)).toEqual(["5", "1", "0", "2", "3", "1", "3 hops"]);
    expect(text).toContain("the person, and so every chain");
  });

  test("links the sessions beside it", async () => {
    const [first, beside] = [await records.consent(), await records.consent()];
    await records.sql`insert into session_beside (session_id, beside, family, holder, agent, expires_at)
      values (${beside}, ${first}, ${first}, 'planner', 'clerk', now() + interval '1 hour')`;
    for (const [of, other, role] of [
      [first, beside, "clerk"],
      [beside, first, "the first of them"],
    ] as const) {
      const { text } = await look(`/console/sessions/${of}`);
      const family = text.slice(text.indexOf("Sessions beside this one"));
      expect(family).toContain(`href="/console/sessions/${other}"`);
      expect(family).toContain(role);
      expect(family).not.toContain(`href="/console/sessions/${of}"`);
    }
  });
});

test("a decision's page links to its trace where the settings say, and has no such link otherwise", async () => {
  const { action_id: id, session_id: session } = await records.record({});
  const traceUrl = "https://traces.example/{session_id}?q=a%20b&id={action_id}&again={action_id}";
  const page = await visitor({ ...plane.deps, traceUrl }).look(`/console/actions/${id}`);
  const link = `https://traces.example/${session}?q=a%20b&id=${id}&again=${id}`;
  expect(unescaped(page.text)).toContain(`<a href="${link}">`);
  expect((await look(`/console/actions/${id}`)).text).not.toContain("Trace of this call");
});

describe("the evidence of a decision", () => {
  const evidence = async (id: string) => {
    const { text } = await look(`/console/actions/${id}`);
    return text.slice(text.indexOf("<h2>Evidence</h2>"));
  };

  /** Seals all rows; returns the key. */
  const seal = async () => {
    const sql = connectForAudit(plane.database.appUrl, 1);
    const key = await aKey();
    await sealEverything(sealer(sql, () => key));
    await sql.end();
    return key;
  };

  test("is a proof that verifies with the key alone, once the decision is sealed", async () => {
    const { action_id: id } = await records.record();
    const before = await look(`/console/actions/${id}/evidence.json`);
    expect(before.status).toBe(404);
    expect(await evidence(id)).toContain("Not sealed yet");
    const key = await seal();
    const page = await evidence(id);
    expect(page).toContain(`key <code>${key.kid}</code>`);
    expect(page).toContain("svc audit export --session");
    const file = await look(`/console/actions/${id}/evidence.json`);
    expect(file.headers.get("content-disposition")).toContain(`evidence-${id}.json`);
    const { action_id, proofs } = JSON.parse(file.text);
    expect(action_id).toBe(id);
    const keys = new Map([[key.kid, await verificationKeyOf(key)]]);
    for (const proof of proofs) expect(await checkProof(proof, keys)).toMatchObject({ ok: true });
    expect(page).toContain(`<dt>Leaf</dt><dd><bdi>${proofs[0].leaf_index}</bdi>`);
  });

  test("of one that was changed after it was sealed says so, and is no file", async () => {
    const { action_id: id } = await records.record();
    await seal();
    const superuser = postgres(plane.database.superuserUrl, { max: 1, onnotice: () => {} });
    await superuser.begin(async (tx) => {
      await tx`alter table decision disable trigger append_only`;
      await tx`update decision set target = 'changed' where action_id = ${id}`;
      await tx`alter table decision enable always trigger append_only`;
    });
    await superuser.end();
    const page = await evidence(id);
    expect(page).toContain("The record is not as it was sealed");
    expect(page).toContain("row changed");
    expect((await look(`/console/actions/${id}/evidence.json`)).status).toBe(404);
  });
});
