import { join } from "node:path";
import { type DecisionVector, decisionTables } from "@svc/test-vectors";
import { describe, expect, test } from "vitest";
import { aggregateTrace, checkDrift, type DriftReport, type Edge, exitCodeFor, traceRecorder } from "../src/index.ts";
import { aDelegation, aFolder, anEdge, manifests, plannersManifest } from "./support/edges.ts";

/** As a run of an agent's tests would leave them. */
async function traced(...edges: Edge[]) {
  const file = join(aFolder(), "trace.jsonl");
  const recorder = traceRecorder(file);
  for (const edge of edges) recorder.record(edge);
  await recorder.close();
  return aggregateTrace(file);
}
const checked = async (...edges: Edge[]): Promise<DriftReport> => checkDrift(await traced(...edges), manifests);

describe("a row of the decision tables has the verdict of the tables", () => {
  // The rest of the present state is a session's own, and what a token was narrowed to its hop's: no edge carries them.
  const carried = ({ present = {}, narrowedTo }: DecisionVector): boolean => {
    const { marks, humanMark, ...other } = present;
    return narrowedTo === undefined && Object.keys(other).length === 0;
  };
  const isWritable = ({ chain }: DecisionVector): boolean => chain.every((name) => /^[a-z0-9._-]+$/.test(name));

  describe.each(
    Object.entries(decisionTables)
      .map(([title, rows]) => ({ title, rows: rows.filter(carried).filter(isWritable) }))
      .filter(({ rows }) => rows.length > 0),
  )("$title", ({ rows }) => {
    test.each(rows)("$name", async (row) => {
      const { scope, chain, target, targetKind, dataClass, want } = row;
      const caller = chain.at(-1) ?? "ada";
      const hop = row.hop ?? chain.length + 1;
      const taint = want.taint ?? "trusted_internal";
      const trace = await traced({ scope, chain, caller, target, targetKind, dataClass, hop, taint, outcome: "allow" });
      const declared = Object.entries(row.manifests).map(([agent, manifest]) => ({ agent, manifest }));
      const report = checkDrift(trace, declared);
      expect(report.errors).toEqual([]);
      expect(report.undeclared.map(({ reason, consentableScopes }) => ({ reason, consentableScopes }))).toEqual(
        want.outcome === "allow" ? [] : [{ reason: want.reason, consentableScopes: want.consentableScopes ?? [] }],
      );
      expect(report.result).toBe(want.outcome === "allow" ? "pass" : "drift");
    });
  });
});

describe("the result", () => {
  test("is a pass where every recorded edge is declared", async () => {
    const report = await checked(aDelegation(), anEdge(), anEdge());
    expect(report).toMatchObject({
      result: "pass",
      undeclared: [],
      errors: [],
      summary: { edges: 2, events: 3, runs: 1 },
    });
    expect(exitCodeFor(report)).toBe(0);
  });

  test("is drift where a recorded edge is undeclared, whatever its outcome", async () => {
    for (const outcome of ["allow", "deny", "undecided"] as const) {
      const report = await checked(aDelegation(), anEdge({ target: "http:mail/send", outcome }));
      expect([report.result, exitCodeFor(report)]).toEqual(["drift", 1]);
      expect(report.undeclared).toMatchObject([{ edge: { target: "http:mail/send" }, reason: "TARGET_NOT_DECLARED" }]);
    }
  });

  test("is an error where no event was recorded", async () => {
    const report = await checked();
    expect([report.result, exitCodeFor(report)]).toEqual(["error", 2]);
    expect(report.errors).toMatchObject([{ kind: "nothing_observed" }]);
  });

  test("is an error where events were lost, also where drift was seen", async () => {
    const trace = await traced(anEdge({ target: "http:mail/send" }));
    const faults = [{ kind: "run_unended", file: "x", run: "r", lost: 1 }] as const;
    const report = checkDrift({ ...trace, faults }, manifests);
    expect(report).toMatchObject({ result: "error", undeclared: [{}], summary: { lostEvents: 1, undeclared: 1 } });
  });

  test("of an unknown gate version is not a pass", () => {
    expect(exitCodeFor({ result: "passed" as "pass" })).toBe(2);
  });
});

describe("invalid manifests are an error", () => {
  const wide = Array.from({ length: 9 }, (_, i) => `a${i}`);
  test.each<[string, { agent: string; manifest: unknown }[], string]>([
    ["no manifest", [{ agent: "planner", manifest: {} }], "manifest_invalid"],
    ["no name", [{ agent: "The Planner", manifest: plannersManifest }], "manifest_invalid"],
    ["an unknown member", [{ agent: "planner", manifest: { ...plannersManifest, scope: {} } }], "manifest_invalid"],
    ["two of one agent", [...manifests, { agent: "planner", manifest: plannersManifest }], "manifest_repeated"],
    [
      "more paths than a policy may have",
      wide.map((agent) => ({
        agent,
        manifest: { scopes: { s: { hop_budget: 9, entry: true, downstream_agents: wide.filter((a) => a !== agent) } } },
      })),
      "policy_too_large",
    ],
  ])("%s", async (_, declared, kind) => {
    const report = checkDrift(await traced(anEdge({ target: "http:mail/send" })), declared);
    expect(report).toMatchObject({ result: "error", undeclared: [], warnings: [] });
    expect(report.errors.map((error) => error.kind)).toContain(kind);
  });

  test("none at all declare nothing", async () => {
    const report = checkDrift(await traced(anEdge()), []);
    expect(report).toMatchObject({ result: "drift", undeclared: [{ reason: "PATH_NOT_DECLARED" }] });
  });
});

describe("an undeclared edge", () => {
  test("has the manifest change that admits it", async () => {
    const { undeclared } = await checked(anEdge({ target: "http:mail/send" }));
    expect(undeclared[0]?.remedy).toContain(
      'Add {"ref":"http:mail/send","data_classes":["finance.entries"]} to "tools"',
    );
  });

  test("names the scopes whose consent admits it", async () => {
    const { undeclared } = await checked(anEdge({ target: "http:trips/book", dataClass: "trips" }));
    expect(undeclared).toMatchObject([{ reason: "SCOPE_NOT_CONSENTED", consentableScopes: ["travel"] }]);
    expect(undeclared[0]?.remedy).toContain('consent to scope "travel"');
  });

  test("is judged under the taint it was recorded with", async () => {
    const { undeclared } = await checked(anEdge({ target: "http:ledger/post", taint: "untrusted_external" }));
    expect(undeclared).toMatchObject([{ reason: "TAINT_BLOCKED" }]);
  });

  test("names the file of the caller's manifest", async () => {
    const declared = manifests.map((one) => ({ ...one, file: `${one.agent}.yaml` }));
    const report = checkDrift(await traced(anEdge({ target: "http:mail/send" })), declared);
    expect(report.undeclared[0]?.manifestFile).toBe("planner.yaml");
  });
});

describe("a declared edge that no run exercised is a warning", () => {
  const warnedOf = async (...edges: Edge[]) =>
    (await checked(...edges)).warnings.map(({ scope, caller, target, dataClass }) => [
      scope,
      caller,
      target,
      dataClass,
    ]);

  const toPlanner = ["expenses", null, "planner", null];
  const toClerk = ["expenses", "planner", "clerk", null];
  const read = ["expenses", "planner", "http:ledger/read", "finance"];
  const post = ["expenses", "planner", "http:ledger/post", "finance"];
  const voided = ["expenses", "clerk", "http:ledger/void", "finance"];
  const inTravel = [
    ["travel", null, "planner", null],
    ["travel", "planner", "http:trips/book", "trips"],
  ];

  test("delegations and each data class of each tool, in each scope", async () => {
    const unrelated = anEdge({ scope: "other" });
    expect(await warnedOf(unrelated)).toEqual(
      expect.arrayContaining([toPlanner, toClerk, read, post, voided, ...inTravel]),
    );
    expect(await warnedOf(unrelated)).toHaveLength(7);
  });

  test("a call within a declared data class exercises it", async () => {
    expect(await warnedOf(anEdge())).not.toContainEqual(read);
    expect(await warnedOf(anEdge({ dataClass: "financeX" }))).toContainEqual(read);
  });

  test("the human's own calls count for the entry agents that declare the target", async () => {
    expect(await warnedOf(anEdge({ chain: [], caller: "ada", hop: 1 }))).not.toContainEqual(read);
    expect(await warnedOf(anEdge({ chain: ["planner", "clerk"], caller: "clerk", hop: 3 }))).toContainEqual(read);
  });

  test("a delegation, whatever data was delegated", async () => {
    expect(await warnedOf(aDelegation())).not.toContainEqual(toPlanner);
    const toClerkEdge = anEdge({ target: "clerk", targetKind: "agent", dataClass: "finance" });
    expect(await warnedOf(toClerkEdge)).not.toContainEqual(toClerk);
  });

  test("only: the result stays a pass", async () => {
    expect(await checked(aDelegation())).toMatchObject({ result: "pass", summary: { unexercised: 6 } });
  });
});

describe("an edge recorded without its session's scope", () => {
  const unscoped = (changes: Partial<Edge> = {}) => anEdge({ scope: null, ...changes });

  test("has the scope of the delegation that made its chain", async () => {
    expect(await checked(unscoped(), aDelegation())).toMatchObject({ result: "pass" });
    const deep = unscoped({ chain: ["planner", "clerk"], caller: "clerk", hop: 3, target: "http:mail/send" });
    const toClerk = unscoped({ target: "clerk", targetKind: "agent", dataClass: "finance" });
    const report = await checked(deep, toClerk, aDelegation());
    expect(report).toMatchObject({ result: "drift", errors: [], undeclared: [{ edge: { scope: "expenses" } }] });
  });

  test.each([
    ["no delegation to it was recorded", [unscoped()]],
    [
      "it was delegated to in two scopes",
      [unscoped(), aDelegation(), aDelegation({ scope: "travel", dataClass: "trips" })],
    ],
    ["it is the human's own", [unscoped({ chain: [], caller: "ada", hop: 1 })]],
  ])("is an error where %s", async (_, edges) => {
    const report = await checked(...edges);
    expect(report.result).toBe("error");
    expect(report.errors).toMatchObject([{ kind: "scope_unknown" }]);
  });
});
