import { describe, expect, test } from "vitest";
import {
  decodePolicyDocument,
  encodePolicyDocument,
  grantsNothing,
  grantsTheSame,
  type PolicyDocument,
  toCatalog,
} from "../src/policy.ts";
import { indexPolicy } from "../src/policy-index.ts";

const document: PolicyDocument = {
  scope: "expenses",
  tools: [
    {
      ref: "http:ledger/read",
      data_classes: ["finance"],
      privileged: false,
      accepts_taint: true,
      result_taint: "trusted_internal",
      guarantee_level: "full",
    },
  ],
  data_classes: { reads: ["finance"], writes: [] },
  downstream_agents: [],
  paths: [{ path: ["planner"], effective_hop_budget: 4 }],
  hop_budget: 4,
  agents: {
    planner: {
      manifest_version: 1,
      hop_budget: 4,
      entry: true,
      tools: [{ ref: "http:ledger/read", data_classes: ["finance"] }],
      downstream_agents: [],
    },
  },
};

const [tool] = document.tools;
const { planner } = document.agents;
const withTool = (members: object) => ({ ...document, tools: [{ ...tool, ...members }] }) as PolicyDocument;
const withPlanner = (members: object) =>
  ({ ...document, agents: { planner: { ...planner, ...members } } }) as PolicyDocument;

describe("the same grants", () => {
  test("from other manifest versions are equal", () =>
    expect(grantsTheSame(document, withPlanner({ manifest_version: 2 }))).toBe(true));

  test.each([
    ["another data class", withTool({ data_classes: ["crm"] })],
    ["another privilege", withTool({ privileged: true })],
    ["another admission of taint", withTool({ accepts_taint: false })],
    ["another taint of results", withTool({ result_taint: "untrusted_external" })],
    ["another guarantee", withTool({ guarantee_level: "network" })],
    ["one tool less", { ...document, tools: [] }],
    ["an agent of another budget", withPlanner({ hop_budget: 3 })],
    ["an agent that is no entry", withPlanner({ entry: false })],
    ["an agent with one more downstream", withPlanner({ downstream_agents: ["clerk"] })],
    ["one more agent", { ...document, agents: { ...document.agents, clerk: planner } } as PolicyDocument],
    ["another path budget", { ...document, paths: [{ path: ["planner"], effective_hop_budget: 3 }] }],
    ["no path", { ...document, paths: [] }],
    ["another scope", { ...document, scope: "travel" }],
  ])("with %s differ", (_, other) => expect(grantsTheSame(document, other)).toBe(false));
});

test("only a policy without a path grants nothing", () => {
  expect(grantsNothing(document)).toBe(false);
  expect(grantsNothing({ ...document, paths: [] })).toBe(true);
});

test("a catalog shows what consenting grants: no paths, no agents' own declarations", () => {
  expect(toCatalog({ scope: "expenses", version: 3, document })).toEqual({
    scope: "expenses",
    version: 3,
    tools: [{ ref: "http:ledger/read", data_classes: ["finance"], privileged: false }],
    data_classes: { reads: ["finance"], writes: [] },
    entry_agents: ["planner"],
    downstream_agents: [],
    hop_budget: 4,
  });
});

test.each([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["a member missing", JSON.stringify({ ...document, hop_budget: undefined })],
  ["a member too many", JSON.stringify({ ...document, version: 1 })],
  ["a tool without a fact", JSON.stringify(withTool({ accepts_taint: undefined }))],
  ["an unknown taint", JSON.stringify(withTool({ result_taint: "unknown" }))],
])("a stored document with %s is a fault, never a policy", (_, text) =>
  expect(() => decodePolicyDocument(text)).toThrow(),
);

test("an agent's tool without facts is a fault, never a tool without them", () => {
  const torn = { ...document, tools: [] };
  expect(() => indexPolicy({ scope: "expenses", version: 1, document: torn })).toThrow();
});

test("the bytes keep the document's order", () => expect(JSON.parse(encodePolicyDocument(document))).toEqual(document));
