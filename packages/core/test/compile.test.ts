import { describe, expect, test } from "vitest";
import { compile, type ScopeDeclaration } from "../src/compile.ts";
import { agentManifest } from "../src/manifest.ts";
import { compiled } from "./arbitraries.ts";

/** Agents by name, in wire form. */
const declare = (agents: Readonly<Record<string, object>>): readonly ScopeDeclaration[] =>
  Object.entries(agents).flatMap(([agent, scope]) => {
    const declared = agentManifest.parse({ scopes: { s: { hop_budget: 4, ...scope } } }).scopes.get("s");
    return declared === undefined ? [] : [{ agent, manifestVersion: 1, declared }];
  });

const tool = { ref: "http:ledger/read", data_classes: ["finance"] };
const guarded = { ...tool, privileged: true, accepts_taint: true };

describe("a tool that two agents declare", () => {
  const merged = (one: object, other: object) =>
    compiled(declare({ planner: { tools: [{ ...tool, ...one }] }, clerk: { tools: [{ ...tool, ...other }] } }))
      .tools[0];

  const strict = {
    data_classes: ["crm"],
    privileged: true,
    accepts_taint: false,
    result_taint: "untrusted_external",
    guarantee_level: "consent_only",
  };
  const lax = {
    data_classes: ["finance"],
    privileged: false,
    accepts_taint: true,
    result_taint: "trusted_internal",
    guarantee_level: "full",
  };

  test.each([
    [strict, lax],
    [lax, strict],
  ])("has the stricter of each fact and the data of both (%#)", (one, other) => {
    expect(merged(one, other)).toEqual({ ref: tool.ref, ...strict, data_classes: ["crm", "finance"] });
  });

  test("is as declared where both agree", () => {
    expect(merged(lax, lax)).toEqual({ ref: tool.ref, ...lax });
    expect(merged(strict, strict)).toEqual({ ref: tool.ref, ...strict });
  });

  test.each([
    ["full", "connector", "connector"],
    ["connector", "network", "network"],
    ["network", "consent_only", "consent_only"],
  ])("has of the guarantee levels %s and %s the weaker: %s", (one, other, promise) => {
    expect(merged({ guarantee_level: one }, { guarantee_level: other })?.guarantee_level).toBe(promise);
  });
});

test("data classes are sorted into reads and writes, and a class may be in both", () => {
  const { data_classes } = compiled(
    declare({
      planner: {
        tools: [
          { ref: "a", data_classes: ["law", "finance"] },
          { ref: "b", data_classes: ["crm"], access: "write" },
        ],
      },
      clerk: {
        tools: [
          { ref: "c", data_classes: ["finance", "crm"], access: "read" },
          { ref: "d", data_classes: ["finance"], access: "write" },
        ],
      },
    }),
  );
  expect(data_classes).toEqual({ reads: ["crm", "finance", "law"], writes: ["crm", "finance"] });
});

test("each agent keeps its own tools, data classes, budget, version and downstream agents", () => {
  const { agents } = compiled([
    ...declare({ planner: { tools: [guarded], downstream_agents: ["clerk", "nobody"] } }),
    ...declare({ clerk: { hop_budget: 3, tools: [{ ...tool, data_classes: ["law", "crm"] }] } }).map((clerk) => ({
      ...clerk,
      manifestVersion: 7,
    })),
  ]);
  expect(agents).toEqual({
    planner: {
      manifest_version: 1,
      hop_budget: 4,
      entry: true,
      tools: [{ ref: tool.ref, data_classes: ["finance"] }],
      downstream_agents: ["clerk", "nobody"],
    },
    clerk: {
      manifest_version: 7,
      hop_budget: 3,
      entry: false,
      tools: [{ ref: tool.ref, data_classes: ["crm", "law"] }],
      downstream_agents: [],
    },
  });
});

test("the implicit tool of an MCP server is in no stored document", () => {
  const { tools, data_classes } = compiled(declare({ planner: { tools: [{ ...tool, ref: "mcp:ledger/read" }] } }));
  expect(tools.map(({ ref }) => ref)).toEqual(["mcp:ledger/read"]);
  expect(data_classes).toEqual({ reads: ["finance"], writes: [] });
});

describe("an entry agent", () => {
  const entriesOf = (agents: Readonly<Record<string, object>>) =>
    Object.entries(compiled(declare(agents)).agents).flatMap(([name, { entry }]) => (entry ? [name] : []));

  test.each([
    ["an agent alone", { a: {} }, ["a"]],
    ["whom no other lists", { a: { downstream_agents: ["b"] }, b: {} }, ["a"]],
    ["an agent that lists itself", { a: { downstream_agents: ["a"] } }, ["a"]],
    ["who says so, though listed", { a: { downstream_agents: ["b"] }, b: { entry: true } }, ["a", "b"]],
    ["not who says no, though unlisted", { a: { entry: false }, b: {} }, ["b"]],
    ["nobody, where all list each other", { a: { downstream_agents: ["b"] }, b: { downstream_agents: ["a"] } }, []],
  ])("%s", (_, agents, entries) => expect(entriesOf(agents)).toEqual(entries));
});

describe("the number of paths", () => {
  const star = (leaves: number) => {
    const names = Array.from({ length: leaves }, (_, index) => `leaf-${index}`);
    const alone = { entry: undefined, hopBudget: 4, tools: [], downstreamAgents: [] };
    return [
      { agent: "hub", manifestVersion: 1, declared: { ...alone, downstreamAgents: names } },
      ...names.map((agent) => ({ agent, manifestVersion: 1, declared: alone })),
    ];
  };

  test("10,000 compile", () => {
    const compilation = compile("s", star(9_999));
    expect(compilation.ok && compilation.document.paths.length).toBe(10_000);
  });

  test("10,001 are too many, and the agent that branches is named", () => {
    expect(compile("s", star(10_000))).toEqual({ ok: false, branchingAgents: ["hub"] });
  });

  test("agents that branch to unregistered agents, or to one agent, are not named", () => {
    const chain = (agent: string, ...downstreamAgents: string[]) => ({
      agent,
      manifestVersion: 1,
      declared: { entry: true, hopBudget: 4, tools: [], downstreamAgents },
    });
    const graph = [...star(10_000), chain("single", "hub"), chain("hopeful", "hub", "nobody", "no-one")];
    expect(compile("s", graph)).toEqual({ ok: false, branchingAgents: ["hub"] });
  });
});

test("a scope that no agent touches compiles to nothing", () => {
  expect(compiled([])).toEqual({
    scope: "s",
    tools: [],
    data_classes: { reads: [], writes: [] },
    downstream_agents: [],
    paths: [],
    hop_budget: 0,
    agents: {},
  });
});
