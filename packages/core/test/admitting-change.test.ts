import { describe, expect, test } from "vitest";
import {
  type AgentManifestDocument,
  admittingChange,
  admittingChanges,
  agentManifest,
  compile,
  type DenyReason,
  decide,
  denyReasons,
  indexPolicy,
  openReason,
  type WouldBlockGroup,
} from "../src/index.ts";

const scope = "expenses";
const manifest: AgentManifestDocument = {
  scopes: {
    [scope]: {
      hop_budget: 3,
      tools: [
        { ref: "mcp:ledger/read", data_classes: ["finance"] },
        { ref: "mcp:ledger/post", data_classes: ["finance"], privileged: true },
      ],
      downstream_agents: ["auditor"],
    },
    travel: { hop_budget: 2 },
  },
};
const auditor: AgentManifestDocument = {
  scopes: { [scope]: { hop_budget: 3, tools: [{ ref: "mcp:files/read", data_classes: ["docs"] }] } },
};
const group = (changes: Partial<WouldBlockGroup>): WouldBlockGroup => ({
  agent: "planner",
  target: "mcp:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
  denyReason: "TARGET_NOT_DECLARED",
  ...changes,
});

/** The verdict on the group's call, made by the planner under a manifest. */
function verdict(under: AgentManifestDocument, { target, targetKind, dataClass }: WouldBlockGroup, tainted = false) {
  const declarations = Object.entries({ planner: under, auditor }).flatMap(([agent, document]) => {
    const declared = agentManifest.parse(document).scopes.get(scope);
    return declared === undefined ? [] : [{ agent, manifestVersion: 1, declared }];
  });
  const compiled = compile(scope, declarations);
  if (!compiled.ok) throw new Error("too many paths");
  return decide(
    indexPolicy({ scope, version: 1, document: compiled.document }),
    {
      hop: 2,
      chain: ["planner"],
      target,
      targetKind,
      dataClass,
      narrowedTo: undefined,
      tokenTaint: tainted ? "untrusted_external" : "trusted_internal",
      declaredTaint: undefined,
    },
    {
      session: { expired: false, revoked: false },
      identities: new Map(),
      identityRequired: false,
      blocks: [],
      marks: new Map(),
      otherScopes: [],
    },
  );
}

const withoutAuditor: AgentManifestDocument = {
  scopes: { ...manifest.scopes, [scope]: { ...manifest.scopes[scope], hop_budget: 3, downstream_agents: [] } },
};

describe("the proposed manifest admits what was denied", () => {
  test.each<[string, AgentManifestDocument, WouldBlockGroup]>([
    ["a tool that is not declared", manifest, group({ target: "http:crm/read", dataClass: "people" })],
    [
      "a tool of another scope",
      manifest,
      group({ target: "http:crm/read", dataClass: "people", denyReason: "SCOPE_NOT_CONSENTED" }),
    ],
    ["a data class of another scope", manifest, group({ dataClass: "people", denyReason: "SCOPE_NOT_CONSENTED" })],
    [
      "a data class that is not declared",
      manifest,
      group({ dataClass: "people", denyReason: "DATA_CLASS_NOT_DECLARED" }),
    ],
    [
      "an agent that is not downstream",
      withoutAuditor,
      group({ target: "auditor", targetKind: "agent", dataClass: "docs" }),
    ],
    ["a tool that refuses taint", manifest, group({ target: "mcp:ledger/post", denyReason: "TAINT_BLOCKED" })],
  ])("%s", (_name, before, denied) => {
    const tainted = denied.denyReason === "TAINT_BLOCKED";
    expect(verdict(before, denied, tainted).outcome).toBe("deny");
    const change = admittingChange(denied, scope, before);
    if (change.kind !== "manifest") throw new Error(change.advice);
    expect(verdict(change.manifest, denied, tainted).outcome).toBe("allow");
    expect(change.warnings.length).toBeGreaterThan(0);
    expect(change.summary).toContain(denied.target);
  });
});

test("the proposal changes nothing else, and does not modify the given manifest", () => {
  const before = structuredClone(manifest);
  const change = admittingChange(group({ target: "http:crm/read", dataClass: "people" }), scope, manifest);
  if (change.kind !== "manifest") throw new Error(change.advice);
  const { [scope]: changed, ...others } = change.manifest.scopes;
  expect(others).toEqual({ travel: { hop_budget: 2 } });
  expect(changed?.tools?.slice(0, 2)).toEqual(manifest.scopes[scope]?.tools);
  expect(changed?.tools?.[2]).toEqual({ ref: "http:crm/read", data_classes: ["people"] });
  expect(manifest).toEqual(before);
});

test("a data class is never declared twice, nor one below a declared one", () => {
  for (const dataClass of ["finance", "finance.entries"]) {
    const change = admittingChange(group({ denyReason: "DATA_CLASS_NOT_DECLARED", dataClass }), scope, manifest);
    expect(change).toMatchObject({ kind: "other", advice: expect.stringContaining("already") });
  }
});

test.each<[string, WouldBlockGroup, AgentManifestDocument | undefined]>([
  ["of a person, who has no manifest", group({ agent: "ada", target: "http:crm/read" }), undefined],
  ["of an agent without the scope", group({ target: "http:crm/read" }), { scopes: { travel: { hop_budget: 2 } } }],
  ["of a session with an MCP server", group({ target: "mcp:files", dataClass: "protocol" }), manifest],
  [
    "of a delegation for more than the agent declares",
    group({ target: "auditor", targetKind: "agent", denyReason: "DATA_CLASS_NOT_DECLARED" }),
    manifest,
  ],
])("a call %s gets advice instead of a change", (_name, denied, document) => {
  const change = admittingChange(denied, scope, document);
  if (change.kind !== "other") throw new Error(change.summary);
  expect(change.advice).toContain(denied.target === "mcp:files" ? "mcp:files/..." : denied.target);
});

const declarable: readonly DenyReason[] = [
  "TARGET_NOT_DECLARED",
  "SCOPE_NOT_CONSENTED",
  "DATA_CLASS_NOT_DECLARED",
  "TAINT_BLOCKED",
];

test.each(denyReasons.filter((reason) => !declarable.includes(reason)))(
  "no manifest is proposed where %s is not the acting agent's declaration",
  (denyReason) => {
    const change = admittingChange(group({ denyReason }), scope, manifest);
    expect(change.kind).toBe("other");
  },
);

test("a scope named like a member of every object does not count as declared", () => {
  expect(admittingChange(group({ target: "http:crm/read" }), "constructor", manifest).kind).toBe("other");
});

describe("the changes for several groups", () => {
  test("build on each other, and none repeats what another declares", () => {
    const crm = (dataClass: string) => group({ target: "http:crm/read", dataClass });
    const changes = admittingChanges(
      [crm("people"), crm("people.names"), crm("firms"), crm("people")],
      scope,
      manifest,
    );
    expect(changes.map(({ kind }) => kind)).toEqual(["manifest", "other", "manifest", "other"]);
    const [, , third] = changes;
    const tools = third?.kind === "manifest" ? third.manifest.scopes[scope]?.tools : [];
    expect(tools?.at(-1)).toEqual({ ref: "http:crm/read", data_classes: ["people", "firms"] });
  });

  test("accept taint once", () => {
    const tainted = group({ denyReason: "TAINT_BLOCKED" });
    expect(admittingChanges([tainted, tainted], scope, manifest).map(({ kind }) => kind)).toEqual([
      "manifest",
      "other",
    ]);
  });
});

describe("a group is open in a scope", () => {
  const now = (sinceVersion: number | null, denyReason: DenyReason | null) => ({
    denyReason: "TARGET_NOT_DECLARED" as const,
    now: { status: "open" as const, scopes: [{ scope, sinceVersion, denyReason }] },
  });

  test.each([
    ["for the present reason", now(null, "DATA_CLASS_NOT_DECLARED"), scope, "DATA_CLASS_NOT_DECLARED"],
    ["for the recorded reason where it could not be decided", now(null, null), scope, "TARGET_NOT_DECLARED"],
    ["for the recorded reason where the scope is not listed", now(3, null), "travel", "TARGET_NOT_DECLARED"],
    ["not, where the newest policy admits it", now(3, null), scope, undefined],
  ])("%s", (_, judged, of, reason) => {
    expect(openReason(judged, of)).toBe(reason);
  });
});
