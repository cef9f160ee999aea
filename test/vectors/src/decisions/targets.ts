import { acrossScopes, agent, tool } from "../manifest.ts";
import { allow, consentTo, deny, table } from "../vector.ts";

const nowhere = deny("TARGET_NOT_DECLARED");
const elsewhere = deny("SCOPE_NOT_CONSENTED");

/**
 * `expenses` is consented. `planner` is its entry and an entry of the others; `clerk` is downstream of `planner` in
 * `expenses`, `travel` and, with no hop left, in `hurry`, but of no agent in `payroll` and `archive`.
 */
const manifests = {
  planner: acrossScopes(
    agent("expenses", 4, { tools: [tool("http:ledger/read", "finance")], downstream_agents: ["clerk"] }),
    agent("travel", 4, {
      tools: [tool("http:trips/book", "trips"), tool("http:ledger/read", "trips")],
      downstream_agents: ["clerk", "courier"],
    }),
    agent("payroll", 4, { tools: [tool("http:trips/book", "trips.daily")] }),
    agent("hurry", 2, { downstream_agents: ["clerk"] }),
  ),
  clerk: acrossScopes(
    agent("payroll", 4, { entry: false, tools: [tool("http:pay/slip", "wages")] }),
    agent("hurry", 2, { tools: [tool("http:hurry/pay", "rush")] }),
    agent("expenses", 4, { tools: [tool("http:ledger/post", "finance.entries")] }),
    agent("travel", 4, { tools: [tool("http:trips/pay", "trips"), tool("http:ledger/post", "trips")] }),
    agent("archive", 4, { tools: [tool("http:trips/pay", "trips"), tool("http:vault/read", "trips")] }),
  ),
  courier: acrossScopes(
    agent("travel", 4, { tools: [tool("http:post/send", "trips")] }),
    agent("payroll", 4, { entry: false, tools: [tool("http:post/send", "trips")] }),
  ),
  lawyer: acrossScopes(
    agent("expenses", 4, { tools: [tool("http:law/read", "law")] }),
    agent("court", 4, { tools: [tool("http:law/file", "law")] }),
  ),
};

const base = { manifests, scope: "expenses", targetKind: "tool", dataClass: "finance" } as const;
const byHuman = { ...base, chain: [], target: "http:ledger/read" };
const byPlanner = { ...byHuman, chain: ["planner"] };
const byClerk = { ...base, chain: ["planner", "clerk"], target: "http:ledger/post", dataClass: "finance.entries" };
const asAgent = { targetKind: "agent" } as const;
const trips = { dataClass: "trips", narrowedTo: ["trips"] } as const;

/** Check 7. */
export const targetVectors = [
  ...table(byHuman, [
    { name: "the person calls a tool of an entry agent", want: allow },
    { name: "the person calls a tool of another entry agent", target: "http:law/read", dataClass: "law", want: allow },
    { name: "the person calls a tool that only a later agent declares", target: "http:ledger/post", want: nowhere },
    { name: "the person calls an undeclared tool", target: "http:no/where", want: nowhere },
    { name: "the person asks for a tool as if it were an agent", ...asAgent, want: nowhere },
    { name: "the person asks for an agent as if it were a tool", target: "planner", want: nowhere },
    {
      name: "the scopes of the person's entry agents that allow a tool are named",
      target: "http:trips/book",
      dataClass: "trips.daily",
      want: consentTo("payroll", "travel"),
    },
    {
      name: "a scope that declares the tool for less is not among them",
      target: "http:trips/book",
      dataClass: "trips",
      want: consentTo("travel"),
    },
    {
      name: "the scope of the person's second entry agent is named",
      target: "http:law/file",
      dataClass: "law",
      want: consentTo("court"),
    },
    {
      name: "the person does not see a scope of an agent that is no entry here",
      target: "http:vault/read",
      dataClass: "trips",
      want: nowhere,
    },
    {
      name: "an agent that is downstream in the other scope is no target of the person there",
      target: "courier",
      ...asAgent,
      dataClass: "trips",
      want: nowhere,
    },
  ]),
  ...table(byPlanner, [
    { name: "an agent calls a tool it declares", want: allow },
    {
      name: "an agent delegates to an agent it declares",
      target: "clerk",
      ...asAgent,
      dataClass: "finance.entries",
      want: allow,
    },
    {
      name: "an agent calls a tool that another entry agent declares",
      target: "http:law/read",
      dataClass: "law",
      want: nowhere,
    },
    { name: "an agent calls a tool of the agent it delegates to", target: "http:ledger/post", want: nowhere },
    { name: "an agent delegates to an agent that it does not declare", target: "lawyer", ...asAgent, want: nowhere },
    { name: "an agent delegates to itself undeclared", target: "planner", ...asAgent, want: nowhere },
    { name: "an agent delegates to an unknown agent", target: "nobody", ...asAgent, want: nowhere },
    { name: "an agent asks for a tool as if it were an agent", ...asAgent, want: nowhere },
    { name: "a tool's name in other letters is another name", target: "HTTP:ledger/read", want: nowhere },
    { name: "the beginning of a tool's name is another name", target: "http:ledger/rea", want: nowhere },
    { name: "a member of every object is no tool", target: "constructor", want: nowhere },
    {
      name: "the scopes that allow an agent a tool are named",
      target: "http:trips/book",
      dataClass: "trips.daily",
      want: consentTo("payroll", "travel"),
    },
    {
      name: "the scope that allows an agent a delegation is named",
      target: "courier",
      ...asAgent,
      dataClass: "trips",
      want: consentTo("travel"),
    },
    {
      name: "a tool declared elsewhere for other data is recoverable, by no scope",
      target: "http:trips/book",
      dataClass: "law",
      want: elsewhere,
    },
  ]),
  ...table(byClerk, [
    {
      name: "for a later agent the scopes with its whole chain are named",
      target: "http:trips/pay",
      dataClass: "trips",
      want: consentTo("travel"),
    },
    {
      name: "a scope without the chain is recoverable, by no scope",
      target: "http:vault/read",
      dataClass: "trips",
      want: elsewhere,
    },
    {
      name: "a scope in which no hop is left is recoverable, by no scope",
      target: "http:hurry/pay",
      dataClass: "rush",
      want: elsewhere,
    },
    {
      name: "a tool that only an earlier agent declares elsewhere",
      target: "http:trips/book",
      dataClass: "trips",
      want: nowhere,
    },
  ]),
];

/** Check 8, where another scope has the target. */
export const otherScopeClassVectors = [
  ...table({ ...byPlanner, ...trips }, [
    { name: "data that another scope declares for the tool", want: consentTo("travel") },
    { name: "data that no scope declares for the tool", dataClass: "law", want: deny("DATA_CLASS_NOT_DECLARED") },
    { name: "data that another scope declares for the agent", target: "clerk", ...asAgent, want: consentTo("travel") },
    {
      name: "data of which another scope declares only some for the agent",
      target: "clerk",
      ...asAgent,
      dataClass: "trips law",
      want: deny("DATA_CLASS_NOT_DECLARED"),
    },
    {
      name: "data that the agent has under another scope, in which the caller may not delegate to it",
      target: "clerk",
      ...asAgent,
      dataClass: "wages",
      want: deny("DATA_CLASS_NOT_DECLARED"),
    },
    {
      name: "data of which no one scope declares all",
      target: "clerk",
      ...asAgent,
      dataClass: "trips finance.entries",
      want: deny("DATA_CLASS_NOT_DECLARED"),
    },
  ]),
  ...table({ ...byClerk, ...trips }, [
    { name: "data that another scope declares for a later agent's tool", want: consentTo("travel") },
  ]),
  ...table({ ...byHuman, dataClass: "trips" }, [
    { name: "data that another scope declares for the person's tool", want: consentTo("travel") },
  ]),
];

const lone = {
  planner: agent("expenses", 4),
  courier: agent("travel", 4, { tools: [tool("http:post/send", "trips")] }),
};

export const noOtherScopeVectors = table(
  {
    manifests: lone,
    scope: "expenses",
    chain: ["planner"],
    target: "http:post/send",
    targetKind: "tool",
    dataClass: "trips",
  },
  [
    // A caller without any data class cannot be delegated to, so no exchange issues its token.
    {
      name: "a tool that only another agent declares, under a scope that the caller has not",
      want: nowhere,
      overHttp: false,
    },
    { name: "the same asked by the person", chain: [], want: nowhere },
  ],
);
