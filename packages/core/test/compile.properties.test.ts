import fc from "fast-check";
import { expect, test } from "vitest";
import { compile, type ScopeDeclaration } from "../src/compile.ts";
import { decodePolicyDocument, encodePolicyDocument, type PolicyDocument } from "../src/policy.ts";
import { agents, compiled, declarations } from "./arbitraries.ts";

const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length });

/** The same declarations in another order, all their lists included. */
const retold = (declared: readonly ScopeDeclaration[]) =>
  shuffled(declared).chain((order) =>
    fc.tuple(
      ...order.map(({ declared: scope, ...rest }) =>
        fc
          .record({
            tools: shuffled(scope.tools).chain((tools) =>
              fc.tuple(
                ...tools.map((tool) => shuffled(tool.dataClasses).map((dataClasses) => ({ ...tool, dataClasses }))),
              ),
            ),
            downstreamAgents: shuffled(scope.downstreamAgents),
          })
          .map((lists) => ({ ...rest, declared: { ...scope, ...lists } })),
      ),
    ),
  );

test("equal declarations compile to equal bytes, in any order", () => {
  const twoTellings = declarations.chain((declared) => fc.tuple(fc.constant(declared), retold(declared)));
  fc.assert(
    fc.property(
      twoTellings,
      ([once, again]) => encodePolicyDocument(compiled(once)) === encodePolicyDocument(compiled(again)),
    ),
  );
});

test("a stored policy is read back byte for byte", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const document = compiled(declared);
      const text = encodePolicyDocument(document);
      expect(decodePolicyDocument(text)).toEqual(document);
      expect(encodePolicyDocument(decodePolicyDocument(text))).toBe(text);
    }),
  );
});

/** Every way to line up some of the agents; five agents have 325. */
const lineUps = (names: readonly string[]): readonly (readonly string[])[] =>
  names.flatMap((name) => [[name], ...lineUps(names.filter((other) => other !== name)).map((rest) => [name, ...rest])]);

/** The rule on paths (docs/reference/manifest.md#the-compiled-policy), tried on every set of agents. */
function pathsByHand(declared: readonly ScopeDeclaration[]): readonly string[] {
  const of = new Map(declared.map((declaration) => [declaration.agent, declaration.declared]));
  const isListed = (name: string) =>
    declared.some(({ agent, declared: scope }) => agent !== name && scope.downstreamAgents.includes(name));
  const budget = (path: readonly string[]) => Math.min(...path.map((name) => of.get(name)?.hopBudget ?? 0));
  return lineUps([...of.keys()])
    .filter(([first = ""]) => of.get(first)?.entry ?? !isListed(first))
    .filter((path) => path.slice(1).every((name, index) => of.get(path[index] ?? "")?.downstreamAgents.includes(name)))
    .filter((path) => path.length <= budget(path))
    .map((path) => `${path.join(" ")}: ${budget(path)}`);
}

const listed = (document: PolicyDocument) =>
  document.paths.map(({ path, effective_hop_budget }) => `${path.join(" ")}: ${effective_hop_budget}`);

test("the paths are those that a brute-force search finds", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      expect([...listed(compiled(declared))].sort()).toEqual([...pathsByHand(declared)].sort());
    }),
    { numRuns: 500 },
  );
});

test("every path and every prefix of it is simple, starts at an entry agent and is within its budget", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const document = compiled(declared);
      const budgets = new Map(
        document.paths.map(({ path, effective_hop_budget }) => [path.join(" "), effective_hop_budget]),
      );
      for (const { path, effective_hop_budget } of document.paths) {
        expect(new Set(path).size).toBe(path.length);
        expect(document.agents[path[0] ?? ""]?.entry).toBe(true);
        expect(path.length).toBeLessThanOrEqual(effective_hop_budget);
        // Going further only narrows.
        for (let length = 1; length < path.length; length++) {
          expect(budgets.get(path.slice(0, length).join(" "))).toBeGreaterThanOrEqual(effective_hop_budget);
        }
      }
    }),
  );
});

test("the policy's budget is the largest of its paths', and none without a path", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const { hop_budget, paths } = compiled(declared);
      expect(hop_budget).toBe(Math.max(0, ...paths.map(({ effective_hop_budget }) => effective_hop_budget)));
    }),
  );
});

const budgetsByPath = (declared: readonly ScopeDeclaration[]) =>
  new Map(compiled(declared).paths.map(({ path, effective_hop_budget }) => [path.join(" "), effective_hop_budget]));

const neverRaised = (before: readonly ScopeDeclaration[], after: readonly ScopeDeclaration[]) => {
  const budgets = budgetsByPath(before);
  for (const [path, budget] of budgetsByPath(after)) expect(budget).toBeLessThanOrEqual(budgets.get(path) ?? budget);
};

const listing = (declared: readonly ScopeDeclaration[], by: string, name: string): readonly ScopeDeclaration[] =>
  declared.map((declaration) =>
    declaration.agent !== by
      ? declaration
      : {
          ...declaration,
          declared: { ...declaration.declared, downstreamAgents: [...declaration.declared.downstreamAgents, name] },
        },
  );

test("one more downstream agent never raises the budget of an existing path", () => {
  fc.assert(
    fc.property(
      declarations,
      fc.constantFrom(...agents),
      fc.constantFrom(...agents, "newcomer"),
      (declared, by, name) => {
        neverRaised(declared, listing(declared, by, name));
      },
    ),
  );
});

test("a newly registered downstream agent never raises the budget of an existing path", () => {
  fc.assert(
    fc.property(
      declarations,
      fc.constantFrom(...agents),
      fc.integer({ min: 1, max: 32 }),
      (declared, by, hopBudget) => {
        const newcomer = {
          agent: "newcomer",
          manifestVersion: 1,
          declared: { hopBudget, entry: undefined, tools: [], downstreamAgents: [...agents] },
        };
        neverRaised(declared, [...listing(declared, by, "newcomer"), newcomer]);
      },
    ),
  );
});

/** Every list in a document by what orders it, but for the agents along a path. */
const lists = (value: unknown): readonly (readonly string[])[] =>
  Array.isArray(value)
    ? [value.map((item) => item.ref ?? item.path?.join("\u0000") ?? item), ...value.flatMap(lists)]
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([member, content]) => (member === "path" ? [] : lists(content)))
      : [];

test("every list is sorted by code unit, without repeats", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      for (const list of lists(compiled(declared))) {
        expect(list).toEqual([...new Set(list)].sort((a, b) => (a < b ? -1 : 1)));
      }
    }),
  );
});

test("a graph too large to compile is rejected in bounded time and memory", () => {
  const clique = Array.from({ length: 12 }, (_, index) => `agent-${index}`);
  const crowd = Array.from({ length: 10_000 }, (_, index) => `nobody-${index}`);
  const declare = (agent: string) => ({
    agent,
    manifestVersion: 1,
    declared: {
      hopBudget: 32,
      entry: true,
      tools: [],
      downstreamAgents: [...crowd, ...clique.filter((name) => name !== agent)],
    },
  });
  expect(compile("s", clique.map(declare))).toEqual({ ok: false, branchingAgents: [...clique].sort() });
});
