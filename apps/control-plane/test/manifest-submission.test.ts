import { aManifest, aTool } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { override, source, submitter } from "./submitting.ts";
import { query, startPlane } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const { register, resubmit, discovering, rows, versionsOf, policyOf, reportOf } = submitter(plane);

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

test("a scope with too many paths is refused and leaves nothing behind, also not in the other scopes of the manifest", async () => {
  const layers = 7;
  const layer = (depth: number) => Array.from({ length: 5 }, (_, n) => `layer-${depth}-${n}`);
  let refused: Awaited<ReturnType<typeof register>> | undefined;
  for (let depth = layers; depth >= 0 && refused === undefined; depth--) {
    for (const name of layer(depth)) {
      const downstream_agents = depth === layers ? [] : layer(depth + 1);
      const { scopes } = aManifest("wide", { hop_budget: 32, downstream_agents });
      // Compiled first, so that its policy is there to be undone.
      const answer = await register(name, { scopes: { ...aManifest("beside").scopes, ...scopes } });
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
  for (const scope of ["wide", "beside"]) {
    const compiled = Object.keys((await policyOf(scope)).agents);
    expect(compiled.toSorted(), scope).toEqual(stored.map(({ name }) => name).toSorted());
  }
});
