import { aManifest, aTool, type ScopeDocument } from "@svc/test-support";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { poolOf } from "../src/postgres/database.ts";
import { wouldBlockPlaceReads } from "../src/postgres/would-block/places.ts";
import { rowsRead } from "./rows-read.ts";
import { tokens } from "./support.ts";
import { countedPlane, observedDeny } from "./would-block-counts.ts";

const { plane, records, owner, record, count, stop } = await countedPlane();
afterAll(stop);

const ledger = aTool("mcp:ledger/read");
const post = aTool("http:ledger/post");
let names = 0;
let agent = "";
let scope = "";
let session = "";
/** The delegation that gave the agent its token. */
let parent = "";

beforeEach(async () => {
  agent = `agent-${++names}`;
  scope = `scope-${names}`;
  await records.register(agent, scope);
  session = await records.consent(scope);
  parent = (await records.record({ session_id: session, target: agent })).action_id;
});

/** An observed deny of the agent's call at hop 2. */
const aCall = (changes: Record<string, unknown> = {}) =>
  records.aRow({
    ...observedDeny,
    ...{ session_id: session, hop: 2, chain: [agent], acting_agent: agent, parent_action_id: parent },
    ...{ target: post.ref, target_kind: "tool", ...changes },
  });

async function declare(changes: Partial<ScopeDocument>): Promise<void> {
  const manifest = aManifest(scope, { tools: [ledger, post], ...changes });
  const { status } = await plane.send("/v1/manifests", { body: { agent, manifest, override: {} } });
  expect(status).toBe(201);
}

async function nowOf(query: Record<string, string> = { scope }) {
  const { json, status } = await plane.send(`/v1/audit/would-block?${new URLSearchParams(query)}`, {
    token: tokens.audit,
  });
  expect(status).toBe(200);
  const groups = json.data as unknown as { agent: string; now: unknown }[];
  return groups.filter((group) => group.agent === agent).map(({ now }) => now);
}

const countAll = async () => {
  while ((await count()) > 0);
};

const admitted = (version: number) => ({
  status: "admitted",
  scopes: [{ scope, since_version: version, deny_reason: null }],
});
const open = (reason: string | null) => ({
  status: "open",
  scopes: [{ scope, since_version: null, deny_reason: reason }],
});

describe("a group", () => {
  test("is open until a policy version admits it, and then says since which", async () => {
    await record([aCall(), aCall()]);
    expect(await nowOf()).toEqual([open("TARGET_NOT_DECLARED")]);
    await declare({});
    await declare({ tools: [ledger, post, aTool("http:other/read")] });
    expect(await nowOf()).toEqual([admitted(2)]);
    await countAll();
    expect(await nowOf()).toEqual([admitted(2)]);
  });

  test("whose target a later version denies again is open", async () => {
    await record([aCall()]);
    await declare({});
    await declare({ tools: [ledger] });
    expect(await nowOf()).toEqual([open("TARGET_NOT_DECLARED")]);
    await declare({});
    expect(await nowOf()).toEqual([admitted(4)]);
  });

  test("has the reason of now, which may be another", async () => {
    await record([aCall({ data_class: "crm.people" })]);
    await declare({});
    expect(await nowOf()).toEqual([open("DATA_CLASS_NOT_DECLARED")]);
  });

  test("is open while one of its chains is denied", async () => {
    await record([aCall(), aCall({ hop: 3, chain: ["nobody", agent] })]);
    await declare({});
    expect(await nowOf()).toEqual([open("PATH_NOT_DECLARED")]);
  });

  test("is open while a call under untrusted data is denied, as it was recorded", async () => {
    await record([aCall(), aCall({ taint: "untrusted_external" })]);
    await declare({ tools: [ledger, { ...post, accepts_taint: false }] });
    expect(await nowOf()).toEqual([open("TAINT_BLOCKED")]);
    await declare({ tools: [ledger, { ...post, accepts_taint: true }] });
    expect(await nowOf()).toEqual([admitted(3)]);
  });

  test("is open where the token was narrowed to another class", async () => {
    const { action_id } = await records.record({ session_id: session, target: agent, data_class: "crm" });
    await record([aCall({ parent_action_id: action_id })]);
    await declare({});
    expect(await nowOf()).toEqual([open("DATA_CLASS_WIDENED")]);
    await countAll();
    expect(await nowOf()).toEqual([open("DATA_CLASS_WIDENED")]);
  });

  test.each([
    ["SESSION_REVOKED", "SESSION_REVOKED"],
    ["SESSION_EXPIRED", "SESSION_EXPIRED"],
  ])("of sessions that had ended (%s) stays open", async (deny_reason, now) => {
    await record([aCall({ target: ledger.ref, deny_reason })]);
    expect(await nowOf()).toEqual([open(now)]);
  });
});

describe("a present denial keeps a group open", () => {
  test("a block on the tool, until it is lifted", async () => {
    await record([aCall()]);
    await declare({});
    const path = `/v1/blocks/tool/${encodeURIComponent(post.ref)}`;
    await plane.send(path, { method: "PUT", body: { reason: "incident" } });
    expect(await nowOf()).toEqual([open("TARGET_BLOCKED")]);
    await plane.send(path, { method: "DELETE" });
    expect(await nowOf()).toEqual([admitted(2)]);
  });

  test("the revocation of an agent of the chain", async () => {
    await record([aCall({ target: ledger.ref })]);
    expect(await nowOf()).toEqual([admitted(1)]);
    const [row] = await owner`select agent_id from agent where name = ${agent}`;
    await plane.send(`/v1/agents/${row?.agent_id}/revoke`, { body: { reason: "stolen key" } });
    expect(await nowOf()).toEqual([open("AGENT_REVOKED")]);
  });

  test("the revocation of all who lend the tool to a person", async () => {
    const person = { hop: 1, chain: [], parent_action_id: null, acting_agent: agent };
    await record([aCall({ ...person, target: ledger.ref })]);
    expect(await nowOf()).toEqual([admitted(1)]);
    const [row] = await owner`select agent_id from agent where name = ${agent}`;
    await plane.send(`/v1/agents/${row?.agent_id}/revoke`, { body: { reason: "stolen key" } });
    expect(await nowOf()).toEqual([open("AGENT_REVOKED")]);
  });
});

describe("what cannot be decided is open", () => {
  test("a call of which the record of its parent is missing", async () => {
    await record([aCall({ parent_action_id: null })]);
    await declare({});
    expect(await nowOf()).toEqual([open(null)]);
  });

  test("a group of more places than a page holds", async () => {
    await declare({});
    const chain = (n: number) => aCall({ hop: 3, chain: [`one-${n}`, agent] });
    await record(Array.from({ length: 51 }, (_, n) => chain(n)));
    const undecided = { status: "open", scopes: [] };
    expect(await nowOf()).toEqual([undecided]);
    await countAll();
    expect(await nowOf()).toEqual([undecided]);
  });

  test("a group whose scope has a policy that is not this service's", async () => {
    await record([aCall()]);
    await declare({});
    await records.sql`
      insert into compiled_policy (scope, version, schema_version, document, created_at)
      select scope, 9, schema_version, document, created_at from compiled_policy where scope = ${scope} and version = 2`;
    expect(await nowOf()).toEqual([open(null)]);
  });
});

test("a group of several scopes is admitted once each of them admits it", async () => {
  const first = scope;
  const other = `${scope}-too`;
  await records.register(`${agent}-too`, other);
  const elsewhere = await records.consent(other);
  const { action_id } = await records.record({ session_id: elsewhere, target: agent });
  await record([aCall(), aCall({ session_id: elsewhere, parent_action_id: action_id })]);
  await declare({});
  expect(await nowOf({})).toEqual([
    {
      status: "open",
      scopes: [
        { scope: first, since_version: 2, deny_reason: null },
        { scope: other, since_version: null, deny_reason: "PATH_NOT_DECLARED" },
      ],
    },
  ]);
  expect(await nowOf({ scope: first })).toEqual([admitted(2)]);
});

test("of counted calls no row of the log is read, however many there are", async () => {
  await record(Array.from({ length: 300 }, () => aCall()));
  await countAll();
  await owner`analyze`;
  const { audit } = plane.deps;
  const [row] = await audit.wouldBlocks({ scope, after: undefined, limit: 1 });
  const groups = row === undefined ? [] : [row.position];
  const read = await rowsRead(plane.database.appUrl, (sql) =>
    wouldBlockPlaceReads(poolOf(sql, 5_000)).wouldBlockPlaces({ scope, groups }),
  );
  expect(read).toBe(0);
});

test("only places that were seen in the span count", async () => {
  const at = (day: number) => ({ decided_at: new Date(Date.UTC(2026, 0, day)) });
  await record([aCall({ ...at(3), hop: 3, chain: ["nobody", agent] }), aCall(at(5))]);
  await declare({});
  const since = "2026-01-04T00:00:00Z";
  for (const isCounted of [false, true]) {
    if (isCounted) await countAll();
    expect(await nowOf({ scope })).toEqual([open("PATH_NOT_DECLARED")]);
    expect(await nowOf({ scope, since })).toEqual([admitted(2)]);
  }
});
