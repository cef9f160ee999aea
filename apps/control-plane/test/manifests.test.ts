import type { Discovered, PolicyDocument } from "@svc/core";
import { aManifest, aScope, aTool, capabilitiesOf, type ManifestDocument } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { query, startPlane, type TestApp, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
}, 60_000);
afterAll(() => plane.stop());

const override = { reason: "reviewed by hand" };
const source = { kind: "http", url: "http://capabilities.test/" };

/** The app whose every source advertises what this manifest declares. */
const discovering = (advertised: ManifestDocument): TestApp => {
  const { tools, downstream_agents } = capabilitiesOf(advertised);
  const discovered: Discovered = { ok: true, tools, downstreamAgents: downstream_agents };
  return plane.with({ discover: async (sources) => sources.map((asked) => ({ source: asked, discovered })) });
};

/** The app whose sources advertise nothing. */
const refusing: TestApp = {
  send: (path, sent) => discovering({ scopes: {} }).send(path, sent),
};

const register = (name: string, manifest: object, app: TestApp = plane) =>
  app.send("/v1/agents", { body: { name, manifest, override } });
const resubmit = (agent: string, manifest: object, app: TestApp = plane) =>
  app.send("/v1/manifests", { body: { agent, manifest, override } });
const rows = <Row extends object>(text: string, ...values: string[]) => query<Row>(plane.database.appUrl, text, values);
const versionsOf = async (scope: string): Promise<number[]> =>
  (await rows<{ version: number }>("select version from compiled_policy where scope = $1 order by version", scope)).map(
    ({ version }) => version,
  );
const policyOf = async (scope: string): Promise<PolicyDocument> => {
  const [row] = await rows<{ document: string }>(
    "select document from compiled_policy where scope = $1 order by version desc limit 1",
    scope,
  );
  return JSON.parse(row?.document ?? "null");
};
const reportOf = async (name: string) => {
  const { json } = await plane.send(`/v1/agents/resolve?name=${name}`);
  return plane.send(`/v1/agents/${json.agent_id}/reconciliation`);
};

describe("a first registration", () => {
  test("that discovery confirms is reconciled, attested by discovery", async () => {
    const manifest = { discovery: source, ...aManifest("confirmed", { tools: [aTool("http:a/read")] }) };
    const app = discovering(manifest);
    const answer = await app.send("/v1/agents", { body: { name: "confirmed-agent", manifest } });
    expect(answer).toMatchObject({ status: 201, json: { manifest_version: 1, status: "reconciled" } });
    expect((await plane.send("/v1/manifests/confirmed")).json).toMatchObject({
      agent: "confirmed-agent",
      version: 1,
      attested_by: "discovery",
    });
    expect((await reportOf("confirmed-agent")).json).toMatchObject({
      manifest_version: 1,
      status: "reconciled",
      discovery_ok: true,
      diff: [],
      attestation: null,
    });
  });

  test("that nobody vouches for needs review, creates no agent, and keeps its report", async () => {
    const manifest = aManifest("unreviewed", { tools: [aTool("http:b/read")] });
    const answer = await plane.send("/v1/agents", { body: { name: "unreviewed-agent", manifest } });
    expect(answer).toMatchObject({
      status: 409,
      json: { error: { code: "needs_review" }, details: { diff: [{ ref: "http:b/read", kind: "undiscovered" }] } },
    });
    expect((await plane.send("/v1/agents/resolve?name=unreviewed-agent")).status).toBe(404);
    expect((await plane.send("/v1/manifests/unreviewed")).status).toBe(404);
    expect(await versionsOf("unreviewed")).toEqual([]);
    expect(
      await rows("select status, agent_id from reconciliation_report where agent_name = $1", "unreviewed-agent"),
    ).toEqual([{ status: "needs_review", agent_id: null }]);
    expect(await register("unreviewed-agent", manifest)).toMatchObject({
      status: 201,
      json: { manifest_version: 1, status: "attested" },
    });
  });

  test("that a person vouches for is attested by that person, with the reason beside it", async () => {
    await register("vouched-agent", aManifest("vouched", { tools: [aTool("http:c/read")] }));
    expect((await plane.send("/v1/manifests/vouched")).json).toMatchObject({ attested_by: "human:alice" });
    expect((await reportOf("vouched-agent")).json).toMatchObject({
      status: "attested",
      discovery_ok: false,
      attestation: { by: "human:alice", reason: override.reason },
    });
    expect(
      await rows("select kind, actor, reason, details from administrative_event where agent = $1", "vouched-agent"),
    ).toEqual([
      {
        kind: "manifest_overridden",
        actor: "alice",
        reason: override.reason,
        details: { status: "attested", manifest_version: 1 },
      },
    ]);
  });

  test("that contradicts discovery is rejected whoever vouches for it", async () => {
    const declared = {
      discovery: source,
      ...aManifest("beyond", { tools: [aTool("http:d/read"), aTool("http:d/more")] }),
    };
    const app = discovering(aManifest("beyond", { tools: [aTool("http:d/read")] }));
    expect(await register("beyond-agent", declared, app)).toMatchObject({
      status: 422,
      json: {
        error: { code: "reconciliation_rejected" },
        details: { diff: [{ ref: "http:d/more", kind: "exceeds", remedy: expect.stringContaining("http:d/more") }] },
      },
    });
    expect((await plane.send("/v1/agents/resolve?name=beyond-agent")).status).toBe(404);
  });

  test("for a registered name is refused without asking anyone", async () => {
    await register("taken-agent", aManifest("taken"));
    const app = plane.with({
      discover: () => {
        throw new Error("discovery must not be asked");
      },
    });
    expect(await register("taken-agent", aManifest("taken"), app)).toMatchObject({
      status: 409,
      json: { error: { code: "agent_exists" } },
    });
  });
});

describe("a further submission", () => {
  test("of an agent that never registered is 404", async () => {
    expect(await resubmit("nobody", aManifest("nothing"))).toMatchObject({
      status: 404,
      json: { error: { code: "agent_not_found" } },
    });
  });

  test("appends a version whatever its status; only accepted ones are compiled", async () => {
    const first = { discovery: source, ...aManifest("grown", { tools: [aTool("http:e/read")] }) };
    const app = discovering(first);
    await register("grown-agent", first, app);
    const second = { discovery: source, ...aManifest("grown", { tools: [aTool("http:e/write")] }) };
    expect(await resubmit("grown-agent", second, app)).toMatchObject({ status: 422 });
    expect((await plane.send("/v1/manifests/grown")).json).toMatchObject({ version: 1 });
    expect((await plane.send("/v1/manifests/grown?version=2")).json).toMatchObject({ version: 2, status: "rejected" });
    expect((await reportOf("grown-agent")).json).toMatchObject({ manifest_version: 2, status: "rejected" });
    expect(await versionsOf("grown")).toEqual([1]);
    expect(await resubmit("grown-agent", second, discovering(second))).toMatchObject({
      status: 201,
      json: { manifest_version: 3, status: "reconciled" },
    });
    expect(await versionsOf("grown")).toEqual([1, 2]);
    expect((await plane.send("/v1/scopes/grown/catalog")).json).toMatchObject({ tools: [{ ref: "http:e/write" }] });
    expect((await plane.send("/v1/scopes/grown/catalog?version=1")).json).toMatchObject({
      version: 1,
      tools: [{ ref: "http:e/read" }],
    });
  });

  test("that nobody vouches for is kept as needing review, and what was accepted stands", async () => {
    await register("silent-agent", aManifest("silent", { tools: [aTool("http:l/a")] }));
    const manifest = aManifest("silent", { tools: [aTool("http:l/b")] });
    const answer = await plane.send("/v1/manifests", { body: { agent: "silent-agent", manifest } });
    expect(answer).toMatchObject({ status: 409, json: { error: { code: "needs_review" } } });
    expect((await reportOf("silent-agent")).json).toMatchObject({ manifest_version: 2, status: "needs_review" });
    expect((await policyOf("silent")).tools.map(({ ref }) => ref)).toEqual(["http:l/a"]);
  });

  test("that grants the same makes no new policy version", async () => {
    const manifest = aManifest("same", { tools: [aTool("http:f/read")] });
    await register("same-agent", manifest);
    await resubmit("same-agent", manifest);
    expect(await versionsOf("same")).toEqual([1]);
  });

  test("of a scope whose policy is of an older schema compiles it anew", async () => {
    const manifest = aManifest("outdated", { tools: [aTool("http:g/read")] });
    await register("outdated-agent", manifest);
    await query(
      plane.database.ownerUrl,
      `insert into compiled_policy select scope, 2, 0, document, created_at from compiled_policy where scope = 'outdated'`,
    );
    await resubmit("outdated-agent", manifest);
    expect(await versionsOf("outdated")).toEqual([1, 2, 3]);
  });

  test("compiles the scopes that it drops, too: nobody is left in them", async () => {
    await register("moving-agent", aManifest("left", { tools: [aTool("http:h/read")] }));
    await resubmit("moving-agent", aManifest("entered", { tools: [aTool("http:h/read")] }));
    expect(await policyOf("left")).toMatchObject({ tools: [], paths: [], agents: {} });
    expect(await policyOf("entered")).toMatchObject({ agents: { "moving-agent": { manifest_version: 2 } } });
  });

  test("leaves the other agents of its scopes in place", async () => {
    await register("upper", aManifest("team", { downstream_agents: ["lower"], tools: [aTool("http:i/a")] }));
    await register("lower", aManifest("team", { tools: [aTool("http:i/b")] }));
    await resubmit("upper", aManifest("team", { downstream_agents: ["lower"], tools: [aTool("http:i/c")] }));
    expect(await policyOf("team")).toMatchObject({
      tools: [{ ref: "http:i/b" }, { ref: "http:i/c" }],
      paths: [{ path: ["upper"] }, { path: ["upper", "lower"] }],
    });
  });
});

describe("a name", () => {
  test("is an agent's or a tool's: the second comer is refused and claims nothing", async () => {
    await register("named-agent", aManifest("names", { tools: [aTool("named-tool")] }));
    expect(await register("named-tool", aManifest("names"))).toMatchObject({
      status: 422,
      json: { details: { diff: [{ ref: "named-tool", kind: "conflicts", declared: "agent", discovered: "tool" }] } },
    });
    const tools = [aTool("fresh-tool"), aTool("named-agent")];
    expect(await register("other-agent", aManifest("names", { tools }))).toMatchObject({
      status: 422,
      json: {
        details: {
          diff: [
            { ref: "fresh-tool", kind: "undiscovered" },
            { ref: "named-agent", kind: "conflicts", declared: "tool", discovered: "agent" },
          ],
        },
      },
    });
    expect(await register("fresh-tool", aManifest("names"))).toMatchObject({ status: 201 });
  });

  test("may not be the agent's own and one of its tools'", async () => {
    expect(await register("own-name", aManifest("own", { tools: [aTool("own-name")] }))).toMatchObject({ status: 422 });
  });
});

test("a scope with too many paths is refused and leaves nothing behind", async () => {
  const layers = 7;
  const layer = (depth: number) => Array.from({ length: 5 }, (_, n) => `layer-${depth}-${n}`);
  let refused: Awaited<ReturnType<typeof register>> | undefined;
  for (let depth = layers; depth >= 0 && refused === undefined; depth--) {
    for (const name of layer(depth)) {
      const downstream_agents = depth === layers ? [] : layer(depth + 1);
      const answer = await register(name, aManifest("wide", { hop_budget: 32, downstream_agents }));
      if (answer.status !== 201) refused = answer;
    }
  }
  expect(refused).toMatchObject({
    status: 422,
    json: {
      error: { code: "policy_too_large" },
      details: { scope: "wide", branching_agents: expect.arrayContaining(["layer-6-0"]) },
    },
  });
  const stored = await rows<{ name: string }>("select name from agent where name like 'layer-%'");
  const compiled = Object.keys((await policyOf("wide")).agents);
  expect(compiled.toSorted()).toEqual(stored.map(({ name }) => name).toSorted());
}, 60_000);

describe("a manifest reads back exactly as submitted", () => {
  const doc =
    '{ "scopes" : {"exact é 漢 \\u00e9":{"tools":[{"ref":"http:x/y","access":"read", "data_classes":["b","a"]}],\n"hop_budget":1e0}},\t"discovery":[{"url":"http://h.test/","kind":"http"}]}';
  const scope = encodeURIComponent("exact é 漢 é");

  test("same members, same order, same spelling of numbers and text", async () => {
    const body = `{"manifest":${doc},\n"override":{}, "name":"exact-agent"}`;
    expect(await plane.send("/v1/agents", { body })).toMatchObject({ status: 201 });
    const read = await plane.send(`/v1/manifests/${scope}`);
    expect(read.text).toContain(`"doc":${doc}`);
    expect(read.json.doc).toEqual(JSON.parse(doc));
  });

  test.each(["1.0", "1e0", "10E-1", "1.00000"])("a budget written %s stays so", async (number) => {
    const text = `{"scopes":{"spelled":{"hop_budget":${number}}}}`;
    const name = `spelled-${number.toLowerCase().replaceAll(/[^a-z0-9]/g, "-")}`;
    await plane.send("/v1/agents", { body: `{"name":"${name}","manifest":${text},"override":{}}` });
    expect((await plane.send(`/v1/manifests/spelled?agent=${name}`)).text).toContain(`"doc":${text}`);
  });
});

describe("reading a manifest", () => {
  test("takes the newest that touches the scope, an agent's, or a version's", async () => {
    await register("reader-one", aManifest("shared", { tools: [aTool("http:j/one")] }));
    await register("reader-two", aManifest("shared", { tools: [aTool("http:j/two")] }));
    await resubmit("reader-two", aManifest("shared", { tools: [aTool("http:j/three")] }));
    const read = async (search: string) => (await plane.send(`/v1/manifests/shared${search}`)).json;
    expect(await read("")).toMatchObject({ agent: "reader-two", version: 2 });
    expect(await read("?agent=reader-one")).toMatchObject({ agent: "reader-one", version: 1 });
    expect(await read("?agent=reader-two&version=1")).toMatchObject({ agent: "reader-two", version: 1 });
    expect(await read("?version=9")).toMatchObject({ error: { code: "manifest_version_not_found" } });
    expect(await read("?agent=nobody")).toMatchObject({ error: { code: "scope_not_found" } });
  });

  test.each([
    "?version=0",
    "?version=1.0",
    "?version=-1",
    "?version=x",
    "?version=1&version=1",
    "?version=99999999999",
  ])("with %s is a malformed query", async (search) => {
    expect((await plane.send(`/v1/manifests/shared${search}`)).json).toMatchObject({
      error: { code: "invalid_request" },
    });
  });

  test("keeps look-alike scopes apart, byte by byte", async () => {
    const names = [
      "а",
      "a",
      "A",
      "a ",
      "a/b",
      "a%2Fb",
      "%",
      "_",
      "\\",
      "'; drop table agent; --",
      "é",
      "e\u0301",
      "😀",
    ];
    for (const [index, name] of names.entries()) await register(`look-alike-${index}`, aManifest(name));
    for (const [index, name] of names.entries()) {
      const read = await plane.send(`/v1/manifests/${encodeURIComponent(name)}`);
      expect(read.json).toMatchObject({ agent: `look-alike-${index}` });
    }
  });
});

describe("concurrent submissions", () => {
  test("of one agent get a version each, without a gap", async () => {
    await register("busy-agent", aManifest("busy"));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        resubmit("busy-agent", aManifest("busy", { tools: [aTool(`http:busy/${n}`)] })),
      ),
    );
    expect(answers.map(({ json }) => Number(json.manifest_version)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 2),
    );
    const newest = (await plane.send("/v1/manifests/busy")).json;
    expect((await policyOf("busy")).agents["busy-agent"]?.manifest_version).toBe(Number(newest.version));
  }, 60_000);

  test("of many agents to shared scopes lose nobody from the compiled policies", async () => {
    const scopes = ["crowd-a", "crowd-b", "crowd-c"];
    const manifest = (n: number) => ({
      scopes: Object.fromEntries(
        scopes
          .slice(n % 2)
          .concat(scopes.slice(0, n % 2))
          .map((scope) => [scope, aScope({ tools: [aTool(`http:crowd/${n}`)] })]),
      ),
    });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => register(`crowd-${n}`, manifest(n))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    for (const scope of scopes) {
      expect(Object.keys((await policyOf(scope)).agents)).toHaveLength(20);
      expect(await versionsOf(scope)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    }
  }, 60_000);

  test("of one new name register it once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => register("once-agent", aManifest("once"))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
  });

  test("that claim the same name as agent and as tool: one of them is refused", async () => {
    const answers = await Promise.all([
      register("contested", aManifest("contest-1")),
      register("contester", aManifest("contest-2", { tools: [aTool("contested")] })),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422]);
  });
});

describe("agents are listed", () => {
  test("by name, in pages that a cursor joins without gap or repeat", async () => {
    const seen: string[] = [];
    let path: string | undefined = "/v1/agents?limit=7";
    while (path !== undefined) {
      const { json, status } = await plane.send(path);
      expect(status).toBe(200);
      const data = json.data as unknown as { name: string }[];
      seen.push(...data.map(({ name }) => name));
      const next = json.page?.next_cursor as unknown as string | null;
      path = next === null ? undefined : `/v1/agents?limit=7&cursor=${next}`;
    }
    const stored = await rows<{ name: string }>(`select name from agent order by name collate "C"`);
    expect(seen).toEqual(stored.map(({ name }) => name));
    expect(seen.length).toBeGreaterThan(20);
  });

  test("by their latest status", async () => {
    await resubmit("look-alike-0", { discovery: source, ...aManifest("а", { tools: [aTool("http:k/x")] }) }, refusing);
    const { json } = await plane.send("/v1/agents?status=rejected&limit=200");
    const data = json.data as unknown as { name: string; latest_status: string }[];
    expect(new Set(data.map(({ latest_status }) => latest_status))).toEqual(new Set(["rejected"]));
    expect((await plane.send("/v1/agents?status=unknown")).status).toBe(400);
  });

  test("with a cursor of the same status only", async () => {
    const { json } = await plane.send("/v1/agents?limit=1");
    const cursor = json.page?.next_cursor as unknown as string;
    for (const search of [
      `status=attested&cursor=${cursor}`,
      `cursor=${cursor.slice(1)}`,
      `cursor=${cursor}x`,
      "cursor=",
    ]) {
      expect((await plane.send(`/v1/agents?${search}`)).json).toMatchObject({ error: { code: "invalid_request" } });
    }
  });
});

test.each(["nobody", "0190b0f0-0000-7000-8000-000000000000", "%00", "'; drop"])(
  "the report of an agent that is none (%s) is not found",
  async (id) => {
    const answer = await plane.send(`/v1/agents/${id}/reconciliation`, { token: tokens.admin });
    expect([404, 400]).toContain(answer.status);
  },
);
