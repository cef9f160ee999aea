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
const kindsOf = ({ errors }: DriftReport) => errors.map(({ kind }) => kind);

describe("a row of the decision tables has the verdict of the tables", () => {
  // The rest of the present state is a session's own: no edge carries it.
  const carried = ({ present = {} }: DecisionVector): boolean => {
    const { marks, humanMark, ...other } = present;
    return Object.keys(other).length === 0;
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
      const call = { scope, chain, caller, target, targetKind, dataClass, narrowedTo: row.narrowedTo ?? null, hop };
      const trace = await traced({ ...call, taint, outcome: "allow" });
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
    for (const outcome of ["allow", "deny"] as const) {
      const report = await checked(aDelegation(), anEdge({ target: "http:mail/send", outcome }));
      expect([report.result, exitCodeFor(report)]).toEqual(["drift", 1]);
      expect(report.undeclared).toMatchObject([{ edge: { target: "http:mail/send" }, reason: "TARGET_NOT_DECLARED" }]);
    }
  });

  test("is an error where no event was recorded", async () => {
    const report = await checked();
    expect([report.result, exitCodeFor(report)]).toEqual(["error", 2]);
    expect(kindsOf(report)).toEqual(["run_empty", "nothing_observed"]);
  });

  test("is an error where a run recorded nothing, also beside one that did", async () => {
    const folder = aFolder();
    const [empty, other] = [traceRecorder(`${folder}/`), traceRecorder(`${folder}/`)];
    other.record(aDelegation());
    await Promise.all([empty.close(), other.close()]);
    const report = checkDrift(aggregateTrace(folder), manifests);
    expect([kindsOf(report), exitCodeFor(report)]).toEqual([["run_empty"], 2]);
    expect(report.summary).toMatchObject({ events: 1, runs: 2, lostEvents: 0 });
  });

  test("is an error where a folder has no trace file, also beside one that has", async () => {
    const [empty, folder] = [aFolder(), aFolder()];
    const recorder = traceRecorder(`${folder}/`);
    recorder.record(aDelegation());
    await recorder.close();
    const report = checkDrift(aggregateTrace([empty, folder]), manifests);
    expect(report).toMatchObject({ result: "error", errors: [{ kind: "folder_empty", file: empty }] });
  });

  test("is an error where a call was not decided, also beside the same call that was", async () => {
    const undecided = anEdge({ outcome: "undecided" });
    const report = await checked(aDelegation(), undecided, undecided, anEdge(), anEdge({ target: "http:mail/send" }));
    expect(report).toMatchObject({ result: "error", undeclared: [{ reason: "TARGET_NOT_DECLARED" }] });
    expect(report.errors).toMatchObject([{ kind: "undecided", line: 2 }]);
    expect(report.errors[0]?.message).toMatch(/"http:ledger\/read" .*, 2 times, .*Run the tests again/);
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

  test("is judged by what its token was narrowed to", async () => {
    const narrowed = anEdge({ dataClass: "finance", narrowedTo: ["finance.entries"], outcome: "deny" });
    const { undeclared } = await checked(anEdge({ dataClass: "finance" }), narrowed);
    expect(undeclared).toMatchObject([{ reason: "DATA_CLASS_WIDENED", edge: { narrowedTo: ["finance.entries"] } }]);
    expect(undeclared[0]?.remedy).toContain('narrowed to "finance.entries"');
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

  test("has the scope that is named, where no recorded delegation made its chain", async () => {
    const named = async (...edges: Edge[]) => checkDrift(await traced(...edges), manifests, { scope: "expenses" });
    expect(await named(unscoped())).toMatchObject({ result: "pass", errors: [] });
    expect(await named(unscoped({ target: "http:mail/send" }))).toMatchObject({ undeclared: [{}] });
    const inTravel = unscoped({ target: "http:trips/book", dataClass: "trips" });
    expect(await named(inTravel, aDelegation({ scope: "travel", dataClass: "trips" }))).toMatchObject({
      result: "pass",
    });
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
