import { agent, type Manifests, tool } from "../manifest.ts";
import { allow, deny, table } from "../vector.ts";

const notDeclared = deny("PATH_NOT_DECLARED");
const overBudget = deny("HOP_BUDGET_EXCEEDED");

const work = { tools: [tool("http:ledger/read", "finance")] };

/** Budgets follow each agent's name; `ghost` never registered, and `hermit` is not part of this scope. */
const graph: Manifests = {
  alpha: agent("expenses", 4, {
    ...work,
    entry: true,
    downstream_agents: ["beta", "delta", "omega", "ghost", "hermit", "narrow"],
  }),
  beta: agent("expenses", 3, { ...work, downstream_agents: ["gamma", "delta", "alpha", "beta", "omega"] }),
  gamma: agent("expenses", 4, { ...work, downstream_agents: ["delta", "omega"] }),
  delta: agent("expenses", 2, work),
  omega: agent("expenses", 1, work),
  narrow: agent("expenses", 2, { ...work, downstream_agents: ["gamma"] }),
  hermit: agent("travel", 4, work),
  outpost: agent("expenses", 4, { ...work, entry: false }),
  plain: agent("expenses", 4, work),
  island: agent("expenses", 1, work),
  gate: agent("expenses", 2, { ...work, entry: true, downstream_agents: ["gate"] }),
  porch: agent("expenses", 2, { ...work, downstream_agents: ["gate", "porch"] }),
};

const call = {
  manifests: graph,
  scope: "expenses",
  chain: ["alpha"],
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
} as const;

const from = (...chain: readonly string[]) => ({ ...call, chain });
const to = (target: string) => ({ target, targetKind: "agent" }) as const;

/** Check 5: the chain is a prefix of a compiled path. */
export const chainVectors = [
  ...table(call, [
    { name: "a chain of one entry agent", want: allow },
    { name: "a chain along declared delegations", chain: ["alpha", "beta"], want: allow },
  ]),
  ...table({ ...call, overHttp: false }, [
    { name: "a chain that starts at an agent that is no entry", chain: ["beta"], want: notDeclared },
    { name: "a chain that starts at an agent with entry false", chain: ["outpost"], want: notDeclared },
    { name: "a chain over a delegation that was never declared", chain: ["alpha", "gamma"], want: notDeclared },
    { name: "a chain against the direction of delegation", chain: ["beta", "alpha"], want: notDeclared },
    { name: "a chain with its first agent missing", chain: ["beta", "gamma"], want: notDeclared },
    { name: "a chain through an agent that never registered", chain: ["alpha", "ghost"], want: notDeclared },
    { name: "a chain through an agent outside the scope", chain: ["alpha", "hermit"], want: notDeclared },
    { name: "a chain of unknown agents", chain: ["nobody"], want: notDeclared },
    { name: "a chain that passes one agent twice", chain: ["alpha", "beta", "alpha"], want: notDeclared },
    { name: "a chain of one agent beside itself", chain: ["gate", "gate"], want: notDeclared },
    { name: "a chain over its own budget was never compiled", chain: ["alpha", "beta", "delta"], want: notDeclared },
    { name: "a hop one ahead of its chain", hop: 3, want: notDeclared },
    { name: "a hop one behind its chain", hop: 1, want: notDeclared },
    { name: "a hop past the root without a chain", chain: [], hop: 2, want: notDeclared },
    { name: "two agents' names in one", chain: ["alpha beta"], hop: 3, want: notDeclared },
  ]),
  ...table({ ...call, chain: [], scope: "untouched", overHttp: false }, [
    { name: "a scope without agents has no path", want: notDeclared },
  ]),
];

/** Agents that the person may delegate to, and the length a chain may reach. */
export const budgetVectors = [
  ...table({ ...from(), ...to("plain") }, [
    { name: "the person delegates to an agent that no other lists", want: allow },
    { name: "the person delegates to a listed agent with entry true", ...to("gate"), want: allow },
    { name: "an agent that lists itself is still an entry", ...to("porch"), want: allow },
    { name: "the person delegates to a listed agent", ...to("beta"), want: deny("TARGET_NOT_DECLARED") },
    { name: "the person delegates to an agent with entry false", ...to("outpost"), want: deny("TARGET_NOT_DECLARED") },
    { name: "a budget of 1 can be delegated to", ...to("island"), want: allow },
  ]),
  ...table({ ...from("island") }, [{ name: "a budget of 1 is spent once delegated to", want: overBudget }]),
  ...table({ ...from("gate") }, [{ name: "a budget of 2 leaves one hop to its agent", want: allow }]),
  ...table(from("porch", "gate"), [{ name: "a budget of 2 is spent after two delegations", want: overBudget }]),
  ...table(from("alpha", "beta"), [
    { name: "hop 3 within a budget of 3", want: allow },
    { name: "a delegation on the last hop of the budget", ...to("gamma"), want: allow },
    { name: "a delegation that only the target's budget refuses", ...to("delta"), want: overBudget },
    { name: "a delegation far over the target's budget", ...to("omega"), want: overBudget },
    { name: "a delegation back to an agent of the chain is a cycle, not a budget", ...to("alpha"), want: notDeclared },
    { name: "a delegation to itself is a cycle, not a budget", ...to("beta"), want: notDeclared },
  ]),
  ...table(from("alpha", "beta", "gamma"), [
    { name: "hop 4 over the budget of 3 that one agent of the chain has", want: overBudget },
    { name: "a delegation over the chain's own budget", ...to("delta"), want: overBudget },
    {
      name: "an undeclared target beyond the budget has the budget as reason",
      target: "http:no/where",
      want: overBudget,
    },
  ]),
  ...table(from("alpha"), [
    { name: "a target's budget reached exactly", ...to("delta"), want: allow },
    { name: "a target's budget missed by one", ...to("omega"), want: overBudget },
    { name: "a listed agent that never registered has no path", ...to("ghost"), want: notDeclared },
    { name: "a listed agent outside the scope has no path", ...to("hermit"), want: notDeclared },
  ]),
  ...table(from("alpha", "delta"), [{ name: "hop 3 over the budget of 2 at the end of the chain", want: overBudget }]),
  ...table(from("alpha", "narrow"), [
    { name: "a branch has its own, smaller budget", want: overBudget },
    { name: "a branch cannot reach an agent of another branch", ...to("gamma"), want: overBudget },
  ]),
];

const names = Array.from({ length: 32 }, (_, index) => `link-${index + 1}`);
const longest: Manifests = Object.fromEntries(
  names.map((name, index) => [
    name,
    agent("expenses", 32, { ...work, downstream_agents: names.slice(index + 1, index + 2) }),
  ]),
);

/** The largest possible budget. */
export const longestChainVectors = table({ ...call, manifests: longest, chain: names.slice(0, 31) }, [
  { name: "hop 32 of a chain whose budgets are all 32", want: allow },
  { name: "a delegation on hop 32", ...to("link-32"), want: allow },
  { name: "hop 33 of a chain whose budgets are all 32", chain: names, want: overBudget },
]);
