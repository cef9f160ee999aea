import { describe, expect, test } from "vitest";
import { agentManifest } from "../src/manifest.ts";

const tool = { ref: "http:ledger/read", data_classes: ["finance"] };
const scope = { hop_budget: 4 };
const mcp = { kind: "mcp", name: "ledger", url: "https://ledger.internal/mcp" };

const withScope = (members: object) => ({ scopes: { expenses: { ...scope, ...members } } });
const withTool = (members: object) => withScope({ tools: [{ ...tool, ...members }] });
const withDiscovery = (discovery: unknown) => ({ ...withScope({}), discovery });
const withScopes = (count: number) => ({
  scopes: Object.fromEntries(Array.from({ length: count }, (_, n) => [`scope ${n}`, scope])),
});
/** Members that only the text of a request can have, such as a `__proto__` of its own. */
const asText = (text: string): unknown => JSON.parse(text);

const parsedScope = (document: unknown) => agentManifest.parse(document).scopes.get("expenses");
const parsedTool = (members: object) => parsedScope(withTool(members))?.tools[0];

describe("defaults", () => {
  test("of a scope: no tools, no downstream agents, entry derived by the compiler", () => {
    expect(parsedScope(withScope({}))).toEqual({ hopBudget: 4, entry: undefined, tools: [], downstreamAgents: [] });
  });

  test("of a tool: read, unprivileged, trusted, guarantee level network", () => {
    expect(parsedTool({})).toEqual({
      ref: tool.ref,
      dataClasses: ["finance"],
      access: "read",
      privileged: false,
      acceptsTaint: true,
      resultTaint: "trusted_internal",
      guaranteeLevel: "network",
    });
  });

  test.each([
    [{}, true],
    [{ privileged: false }, true],
    [{ privileged: true }, false],
    [{ privileged: true, accepts_taint: true }, true],
    [{ privileged: false, accepts_taint: false }, false],
  ])("a tool with %j accepts taint: %j", (members, acceptsTaint) =>
    expect(parsedTool(members)?.acceptsTaint).toBe(acceptsTaint),
  );

  test("of a manifest: no discovery source", () => expect(agentManifest.parse(withScope({})).discovery).toEqual([]));

  test("one discovery source is a list of one", () => {
    expect(agentManifest.parse(withDiscovery(mcp)).discovery).toEqual([mcp]);
    expect(agentManifest.parse(withDiscovery([mcp])).discovery).toEqual([mcp]);
  });
});

test.each([
  ["the smallest hop budget", withScope({ hop_budget: 1 })],
  ["the largest hop budget", withScope({ hop_budget: 32 })],
  ["a hop budget spelled with a fraction of nothing", asText('{"scopes":{"expenses":{"hop_budget":2.0}}}')],
  ["one scope", withScopes(1)],
  ["64 scopes", withScopes(64)],
  ["a scope of 255 characters outside the basic plane", { scopes: { ["😀".repeat(255)]: scope } }],
  ["a scope named like a member of every object", { scopes: { constructor: scope, toString: scope } }],
  ["entry, said either way", { scopes: { a: { ...scope, entry: true }, b: { ...scope, entry: false } } }],
  [
    "every member of a tool",
    withTool({
      access: "write",
      privileged: true,
      accepts_taint: false,
      result_taint: "untrusted_external",
      guarantee_level: "full",
    }),
  ],
  ["one ref under two scopes", { scopes: { a: { ...scope, tools: [tool] }, b: { ...scope, tools: [tool] } } }],
  ["agents that are not registered yet", withScope({ downstream_agents: ["nobody", "no-one"] })],
  ["a method of an MCP server", withTool({ ref: "mcp:ledger#resources/read" })],
  ["two sources", withDiscovery([mcp, { kind: "a2a", name: "auditor", url: "https://auditor.internal" }])],
  ["an HTTP source without a name", withDiscovery({ kind: "http", url: "http://tools.internal/list" })],
])("accepts %s", (_, document) => expect(agentManifest.safeParse(document).error?.issues).toBeUndefined());

test.each([
  ["no object", null, ""],
  ["a list", [], ""],
  ["no scopes", {}, "scopes"],
  ["scopes in a list", { scopes: [] }, "scopes"],
  ["0 scopes", withScopes(0), "scopes"],
  ["65 scopes", withScopes(65), "scopes"],
  ["a scope without a name", { scopes: { "": scope } }, "scopes."],
  ["a scope of 256 characters", { scopes: { ["x".repeat(256)]: scope } }, `scopes.${"x".repeat(256)}`],
  [
    "a scope of 256 characters outside the basic plane",
    { scopes: { ["😀".repeat(256)]: scope } },
    `scopes.${"😀".repeat(256)}`,
  ],
  ["a scope with a control character", { scopes: { "a\u0000b": scope } }, "scopes.a\u0000b"],
  ["a scope named __proto__", asText('{"scopes":{"__proto__":{"hop_budget":4}}}'), "scopes"],
  [
    "a scope named __proto__ beside another",
    asText('{"scopes":{"a":{"hop_budget":4},"__proto__":{"hop_budget":4}}}'),
    "scopes",
  ],
  ["a scope that is no object", { scopes: { expenses: null } }, "scopes.expenses"],
  ["an unknown member of the manifest", { ...withScope({}), scope: "expenses" }, ""],
  ["an unknown member of a scope", withScope({ hopBudget: 4 }), "scopes.expenses"],
  ["an unknown member of a tool", withTool({ acceptsTaint: true }), "scopes.expenses.tools.0"],
  ["an unknown member of a source", withDiscovery({ ...mcp, timeout: 5 }), "discovery"],
  ["no hop budget", { scopes: { expenses: {} } }, "scopes.expenses.hop_budget"],
  ["a hop budget of 0", withScope({ hop_budget: 0 }), "scopes.expenses.hop_budget"],
  ["a hop budget of 33", withScope({ hop_budget: 33 }), "scopes.expenses.hop_budget"],
  ["a hop budget below 0", withScope({ hop_budget: -1 }), "scopes.expenses.hop_budget"],
  ["half a hop", withScope({ hop_budget: 1.5 }), "scopes.expenses.hop_budget"],
  ["a hop budget as text", withScope({ hop_budget: "4" }), "scopes.expenses.hop_budget"],
  [
    "a hop budget beyond all numbers",
    asText('{"scopes":{"expenses":{"hop_budget":1e400}}}'),
    "scopes.expenses.hop_budget",
  ],
  ["entry as text", withScope({ entry: "true" }), "scopes.expenses.entry"],
  ["entry as null", withScope({ entry: null }), "scopes.expenses.entry"],
  ["a tool without a ref", withScope({ tools: [{ data_classes: ["finance"] }] }), "scopes.expenses.tools.0.ref"],
  ["a tool without data classes", withScope({ tools: [{ ref: "x" }] }), "scopes.expenses.tools.0.data_classes"],
  ["an empty list of data classes", withTool({ data_classes: [] }), "scopes.expenses.tools.0.data_classes"],
  [
    "a data class twice",
    withTool({ data_classes: ["finance", "crm", "finance"] }),
    "scopes.expenses.tools.0.data_classes",
  ],
  [
    "a data class with an empty segment",
    withTool({ data_classes: ["finance..entries"] }),
    "scopes.expenses.tools.0.data_classes.0",
  ],
  ["data classes as text", withTool({ data_classes: "finance" }), "scopes.expenses.tools.0.data_classes"],
  ["an unknown access", withTool({ access: "Write" }), "scopes.expenses.tools.0.access"],
  ["privileged as a number", withTool({ privileged: 1 }), "scopes.expenses.tools.0.privileged"],
  ["accepts_taint as null", withTool({ accepts_taint: null }), "scopes.expenses.tools.0.accepts_taint"],
  ["an unknown result taint", withTool({ result_taint: "untrusted" }), "scopes.expenses.tools.0.result_taint"],
  ["an unknown guarantee", withTool({ guarantee_level: "none" }), "scopes.expenses.tools.0.guarantee_level"],
  ["a ref twice", withScope({ tools: [tool, { ...tool, data_classes: ["crm"] }] }), "scopes.expenses.tools"],
  ["a ref outside the alphabet", withTool({ ref: "http:ledger read" }), "scopes.expenses.tools.0.ref"],
  ["the implicit tool of an MCP server", withTool({ ref: "mcp:ledger" }), "scopes.expenses.tools.0.ref"],
  [
    "an agent twice",
    withScope({ downstream_agents: ["clerk", "auditor", "clerk"] }),
    "scopes.expenses.downstream_agents",
  ],
  ["an agent that is no name", withScope({ downstream_agents: ["Clerk"] }), "scopes.expenses.downstream_agents.0"],
  [
    "one name as a tool and an agent",
    withScope({ tools: [{ ...tool, ref: "clerk" }], downstream_agents: ["clerk"] }),
    "",
  ],
  [
    "one name as a tool and an agent, under different scopes",
    { scopes: { a: { ...scope, tools: [{ ...tool, ref: "clerk" }] }, b: { ...scope, downstream_agents: ["clerk"] } } },
    "",
  ],
  ["an unknown kind of source", withDiscovery({ ...mcp, kind: "grpc" }), "discovery"],
  ["an empty list of sources", withDiscovery([]), "discovery"],
  ["a source as null", withDiscovery(null), "discovery"],
  ["an MCP source without a name", withDiscovery({ kind: "mcp", url: mcp.url }), "discovery"],
  ["an MCP source whose name has a slash", withDiscovery({ ...mcp, name: "a/b" }), "discovery.name"],
  ["a source without an address", withDiscovery({ kind: "mcp", name: "ledger" }), "discovery"],
  ["a source that is no web address", withDiscovery({ ...mcp, url: "file:///etc/passwd" }), "discovery.url"],
  ["a source that is no address at all", withDiscovery({ ...mcp, url: "ledger" }), "discovery.url"],
])("rejects %s", (_, document, path) => {
  const paths = agentManifest.safeParse(document).error?.issues.map((issue) => issue.path.join("."));
  expect(paths).toContain(path);
});
