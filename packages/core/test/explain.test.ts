import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile } from "../src/compile.ts";
import { decide, type PresentState, runChecks } from "../src/decide.ts";
import { type DecisionRecord, toDecisionRecord } from "../src/decision-record.ts";
import { denyReasons } from "../src/deny-reason.ts";
import { explain } from "../src/explain.ts";
import type { HopRequest } from "../src/hop.ts";
import { agentManifest } from "../src/manifest.ts";
import { indexPolicy, type PolicyIndex } from "../src/policy-index.ts";
import { presentOf, recordPresent } from "../src/recorded-present.ts";
import { question, quiet } from "./arbitraries.ts";

/** Decided, written down as JSON would keep it, and read back. */
function recorded(policy: PolicyIndex, hop: HopRequest, present: PresentState): DecisionRecord {
  const verdict = decide(policy, hop, present);
  const record = toDecisionRecord(hop, verdict, {
    actionId: "action",
    sessionId: "session",
    stage: "authorize",
    actingAgent: hop.chain.at(-1) ?? "ada",
    enforced: true,
    policyVersion: policy.version,
    parentActionId: null,
    decidedAtMs: 0,
    present: recordPresent(policy, hop, present, verdict),
  });
  return JSON.parse(JSON.stringify(record));
}

test("a record explains every check as it was decided, under any state", () => {
  fc.assert(
    fc.property(question, ([policy, hop, present]) => {
      const record = recorded(policy, hop, present);
      const { checks, remedy } = explain(policy, record, hop.narrowedTo);
      const decided = runChecks(policy, hop, present);
      const request = { ...hop, tokenTaint: record.taint, declaredTaint: undefined };
      const again = runChecks(policy, request, presentOf(record.present));
      expect(again.map(({ reason }) => reason !== undefined)).toEqual(
        decided.map(({ reason }) => reason !== undefined),
      );
      expect(checks.map(({ check, passed }) => [check, passed])).toEqual(
        decided.map(({ name, reason }) => [name, reason === undefined]),
      );
      expect(remedy === null).toBe(decided.every(({ reason }) => reason === undefined));
    }),
    { numRuns: 1_000 },
  );
});

test("a state without a denial adds no fact to the record", () => {
  fc.assert(
    fc.property(question, ([policy, hop]) => {
      expect(recordPresent(policy, hop, quiet, decide(policy, hop, quiet))).toBeNull();
    }),
  );
});

test.each(denyReasons)("a row whose facts contradict its reason %s is explained by its reason", (denyReason) => {
  const { policy, hop } = world({ planner: scope() }, {});
  const record = { ...recorded(policy, hop, quiet), decision: "deny", denyReason } as const;
  const { checks, remedy } = explain(policy, record, undefined);
  const first = checks.findIndex(({ passed }) => !passed);
  expect(first).toBeGreaterThanOrEqual(0);
  expect(checks.slice(first + 1).every(({ passed }) => passed)).toBe(true);
  expect(remedy).toMatch(/\w/);
});

const read = { ref: "http:ledger/read", data_classes: ["finance"] };
const scope = (members: object = {}) => ({ hop_budget: 4, tools: [read], ...members });
type Scopes = Readonly<Record<string, ReturnType<typeof scope>>>;

/** A call of `http:ledger/read` that planner may make, and what is different about it. */
function world(manifests: Scopes, request: Partial<HopRequest>, name = "books") {
  const declarations = Object.entries(manifests).flatMap(([agent, declared]) => {
    const parsed = agentManifest.parse({ scopes: { [name]: declared } }).scopes.get(name);
    return parsed === undefined ? [] : [{ agent, manifestVersion: 1, declared: parsed }];
  });
  const compilation = compile(name, declarations);
  if (!compilation.ok) throw new Error("a small graph compiles");
  const policy = indexPolicy({ scope: name, version: 1, document: compilation.document });
  const chain = request.chain ?? ["planner"];
  const hop: HopRequest = {
    hop: chain.length + 1,
    chain,
    target: "http:ledger/read",
    targetKind: "tool",
    dataClass: "finance",
    narrowedTo: undefined,
    tokenTaint: "trusted_internal",
    declaredTaint: undefined,
    ...request,
  };
  return { policy, hop };
}

const remedyOf = (manifests: Scopes, request: Partial<HopRequest>, present: Partial<PresentState> = {}) => {
  const { policy, hop } = world(manifests, request);
  const record = recorded(policy, hop, { ...quiet, ...present });
  return { reason: record.denyReason, remedy: explain(policy, record, hop.narrowedTo).remedy ?? "" };
};

describe("the advised manifest change admits the call", () => {
  const post = { ref: "http:ledger/post", data_classes: ["finance"] };
  const clerk = { downstream_agents: ["clerk"] };
  test.each<[string, Scopes, Partial<HopRequest>, string, Scopes]>([
    [
      "a tool that is not declared",
      { planner: scope() },
      { target: "http:ledger/post" },
      'Add {"ref":"http:ledger/post","data_classes":["finance"]} to "tools" under scope "books" in the manifest of "planner".',
      { planner: scope({ tools: [read, post] }) },
    ],
    [
      "a tool that no entry agent declares",
      { planner: scope() },
      { chain: [], target: "http:ledger/post" },
      '"tools" under scope "books" in the manifest of an agent that the human may delegate to.',
      { planner: scope({ tools: [read, post] }) },
    ],
    [
      "an MCP server of which nothing is declared",
      { planner: scope() },
      { target: "mcp:files", dataClass: "protocol" },
      'Declare a tool of that server, "mcp:files/...", under scope "books" in the manifest of "planner".',
      { planner: scope({ tools: [{ ref: "mcp:files/read", data_classes: ["docs"] }] }) },
    ],
    [
      "an agent that is not declared downstream",
      { planner: scope(), clerk: scope({ entry: false }) },
      { target: "clerk", targetKind: "agent" },
      'Add "clerk" to "downstream_agents" under scope "books" in the manifest of "planner".',
      { planner: scope(clerk), clerk: scope({ entry: false }) },
    ],
    [
      "an agent that is no entry",
      { planner: scope(clerk), clerk: scope() },
      { chain: [], target: "clerk", targetKind: "agent" },
      'Set "entry": true under scope "books" in the manifest of "clerk".',
      { planner: scope(clerk), clerk: scope({ entry: true }) },
    ],
    [
      "an agent that is not registered",
      { planner: scope(clerk) },
      { target: "clerk", targetKind: "agent" },
      'Declare scope "books" in the manifest of "clerk".',
      { planner: scope(clerk), clerk: scope() },
    ],
    [
      "a chain with a link that is not declared",
      { planner: scope(), clerk: scope({ entry: false }) },
      { chain: ["planner", "clerk"] },
      'Add "clerk" to "downstream_agents" under scope "books" in the manifest of "planner".',
      { planner: scope(clerk), clerk: scope({ entry: false }) },
    ],
    [
      "a chain that is longer than a budget",
      { planner: { ...scope(clerk), hop_budget: 1 }, clerk: scope() },
      { chain: ["planner", "clerk"] },
      'Raise "hop_budget" of "planner" under scope "books" to at least 2.',
      { planner: { ...scope(clerk), hop_budget: 3 }, clerk: scope() },
    ],
    [
      "a hop beyond the budget",
      { planner: { ...scope(), hop_budget: 1 } },
      {},
      'Raise "hop_budget" of "planner" under scope "books" to at least 2.',
      { planner: { ...scope(), hop_budget: 2 } },
    ],
    [
      "a delegation beyond the target's budget",
      { planner: scope(clerk), clerk: { ...scope(), hop_budget: 1 } },
      { target: "clerk", targetKind: "agent" },
      'Raise "hop_budget" of "clerk" under scope "books" to at least 2.',
      { planner: scope(clerk), clerk: { ...scope(), hop_budget: 2 } },
    ],
    [
      "a data class that is not declared for the tool",
      { planner: scope() },
      { dataClass: "crm" },
      'Add "crm" to "data_classes" of "http:ledger/read" under scope "books" in the manifest of "planner".',
      { planner: scope({ tools: [{ ...read, data_classes: ["crm", "finance"] }] }) },
    ],
    [
      "a data class that nobody downstream declares",
      { planner: scope(clerk), clerk: scope() },
      { target: "clerk", targetKind: "agent", dataClass: "finance crm" },
      'Declare "crm" for a tool of "clerk", or of an agent downstream of it, under scope "books"',
      { planner: scope(clerk), clerk: scope({ tools: [read, { ref: "http:crm/read", data_classes: ["crm"] }] }) },
    ],
    [
      "a call under taint",
      { planner: scope({ tools: [{ ...read, privileged: true }] }) },
      { tokenTaint: "untrusted_external" },
      'Set "accepts_taint": true for "http:ledger/read" under scope "books" in every manifest that declares it',
      { planner: scope({ tools: [{ ...read, privileged: true, accepts_taint: true }] }) },
    ],
  ])("for %s", (_, manifests, request, advice, changed) => {
    expect(remedyOf(manifests, request).remedy).toContain(advice);
    const { policy, hop } = world(changed, request);
    expect(decide(policy, hop, quiet)).toMatchObject({ outcome: "allow" });
  });
});

describe("where no manifest change helps, the advice names what does", () => {
  const travel = world(
    { planner: scope({ tools: [{ ref: "http:rail/book", data_classes: ["finance"] }] }) },
    {},
    "travel",
  );
  const loop = {
    planner: scope({ downstream_agents: ["clerk"], entry: true }),
    clerk: scope({ downstream_agents: ["planner"] }),
  };
  test.each<[string, Partial<HopRequest>, Partial<PresentState>, string]>([
    ["SESSION_EXPIRED", {}, { session: { expired: true, revoked: false } }, "ask the human to consent again"],
    ["SESSION_REVOKED", {}, { session: { expired: false, revoked: true } }, "the audit events show by whom"],
    [
      "AGENT_REVOKED",
      {},
      { identities: new Map([["planner", "revoked"]]) },
      'register the workload of "planner" as a new',
    ],
    [
      "AGENT_QUARANTINED",
      {},
      { identities: new Map([["planner", "quarantined"]]) },
      'Enroll "planner" with an ID token',
    ],
    ["IDENTITY_REQUIRED", {}, { identityRequired: true }, 'Enroll "planner"'],
    ["TARGET_BLOCKED", {}, { blocks: [{ kind: "tool", ref: "http:ledger/read" }] }, 'block on tool "http:ledger/read"'],
    [
      "PATH_NOT_DECLARED",
      { target: "planner", targetKind: "agent", chain: ["planner", "clerk"] },
      {},
      "No chain passes an agent twice",
    ],
    ["PATH_NOT_DECLARED", { hop: 3 }, {}, "take a token that an exchange issued"],
    [
      "SCOPE_NOT_CONSENTED",
      { target: "http:rail/book" },
      { otherScopes: [travel.policy] },
      'Ask the human to consent to scope "travel". Or: Add {"ref":"http:rail/book"',
    ],
    ["DATA_CLASS_NOT_DECLARED", { dataClass: "finance crm" }, {}, "Ask for one data class with each call"],
    ["DATA_CLASS_WIDENED", { narrowedTo: ["crm"] }, {}, 'its token was narrowed to "crm"'],
    [
      "TAINT_BLOCKED",
      { target: "http:ledger/pay" },
      { marks: new Map([["planner", "mcp:web/fetch"]]) },
      'a session that has not touched "mcp:web/fetch"',
    ],
  ])("%s: %o", (reason, request, present, advice) => {
    const pay = { ref: "http:ledger/pay", data_classes: ["finance"], privileged: true };
    const manifests = { ...loop, planner: { ...loop.planner, tools: [read, pay] } };
    const explained = remedyOf(manifests, request, present);
    expect(explained.reason).toBe(reason);
    expect(explained.remedy).toContain(advice);
  });
});

test("a target's revocation is explained only where the caller declares the target", () => {
  const identities = new Map([["clerk", "revoked"]] as const);
  const revocation = (planner: Scopes[string]) => {
    const { policy, hop } = world({ planner, clerk: scope() }, { target: "clerk", targetKind: "agent" });
    return explain(policy, recorded(policy, hop, { ...quiet, identities }), undefined).checks[1];
  };
  expect(revocation(scope({ downstream_agents: ["clerk"] }))).toEqual({
    check: "revocation",
    passed: false,
    facts: { agents: ["planner", "clerk"], lenders: [], revoked: ["clerk"] },
  });
  expect(revocation(scope())).toMatchObject({ passed: true, facts: { agents: ["planner"], revoked: [] } });
});

describe("the explanation of the person's own call", () => {
  const human = { chain: [] } as const;
  const manifests = { planner: scope(), clerk: scope(), tutor: scope() };
  const present = {
    identities: new Map([
      ["planner", "revoked"],
      ["clerk", "quarantined"],
    ] as const),
    blocks: [{ kind: "agent", ref: "tutor" } as const],
  };

  test("names who lends the tool, and for each of them what would admit the call", () => {
    expect(remedyOf(manifests, human, present)).toEqual({
      reason: "AGENT_REVOKED",
      remedy:
        'The human calls "http:ledger/read" through an agent that lends it, and none is in good standing. One is enough: ' +
        'enroll "clerk", which is quarantined; or register the workload of "planner", which is revoked, as a new agent; ' +
        'or lift the emergency block on "tutor".',
    });
    const { policy, hop } = world(manifests, human);
    const record = recorded(policy, hop, { ...quiet, ...present });
    expect(explain(policy, record, undefined).checks.slice(1, 4)).toEqual([
      {
        check: "revocation",
        passed: false,
        facts: { agents: [], lenders: ["clerk", "planner", "tutor"], revoked: ["planner"] },
      },
      {
        check: "identity",
        passed: false,
        facts: { required: false, statuses: { clerk: "quarantined", planner: "revoked", tutor: "none" } },
      },
      { check: "block", passed: false, facts: { blocks: present.blocks } },
    ]);
  });

  test("of a tool block names that block while an agent that lends the tool is in good standing", () => {
    const blocks = [...present.blocks, { kind: "tool", ref: "http:ledger/read" } as const];
    const { reason, remedy } = remedyOf(manifests, human, { blocks });
    expect([reason, remedy]).toEqual(["TARGET_BLOCKED", expect.stringContaining('tool "http:ledger/read"')]);
  });

  test("counts an agent that is quarantined and blocked once, with both remedies", () => {
    const { remedy } = remedyOf({ clerk: scope() }, human, {
      identities: new Map([["clerk", "quarantined"]]),
      blocks: [{ kind: "agent", ref: "clerk" }],
    });
    expect(remedy).toContain('enroll "clerk", which is quarantined, and lift the emergency block on "clerk".');
  });
});
