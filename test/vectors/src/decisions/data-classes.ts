import { agent, tool } from "../manifest.ts";
import { allow, deny, table } from "../vector.ts";

const undeclared = deny("DATA_CLASS_NOT_DECLARED");
const widened = deny("DATA_CLASS_WIDENED");

const manifests = {
  planner: agent("expenses", 6, {
    tools: [tool("http:ledger/read", "finance.entries crm"), tool("http:shared/read", "finance")],
    downstream_agents: ["clerk"],
  }),
  clerk: agent("expenses", 6, {
    tools: [tool("http:ledger/post", "finance"), tool("http:shared/read", "crm")],
    downstream_agents: ["auditor"],
  }),
  auditor: agent("expenses", 6, { tools: [tool("http:ledger/audit", "audit.log")], downstream_agents: ["clerk"] }),
  lawyer: agent("expenses", 6, { tools: [tool("http:shared/read", "law")] }),
  mute: agent("expenses", 6, { entry: true }),
};

const byPlanner = {
  manifests,
  scope: "expenses",
  chain: ["planner"],
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance.entries",
} as const;

/** The requested data classes. */
const toolRows = table(byPlanner, [
  { name: "exactly the declared data class", want: allow },
  { name: "a second declared data class", dataClass: "crm", want: allow },
  { name: "data within the declared class", dataClass: "finance.entries.drafts", want: allow },
  { name: "data around the declared class", dataClass: "finance", want: undeclared },
  { name: "data beside the declared class", dataClass: "finance.reports", want: undeclared },
  { name: "data whose name begins like the declared class", dataClass: "finance.entriesX", want: undeclared },
  {
    name: "data whose name begins like the declared class, in other letters",
    dataClass: "Finance.entries",
    want: undeclared,
  },
  {
    name: "data that only another agent declares for the tool",
    target: "http:shared/read",
    dataClass: "crm",
    want: undeclared,
  },
  { name: "several declared data classes at once", dataClass: "finance.entries crm", want: undeclared },
]);

/** A call to a tool has one data class: a second one cannot pass with the first. */
const smuggledRows = table({ ...byPlanner, target: "http:shared/read", dataClass: "finance" }, [
  { name: "one data class", want: allow },
  { name: "a foreign class behind one within the declared", dataClass: "finance.entries law", want: undeclared },
  { name: "two classes within the declared", dataClass: "finance.entries finance.reports", want: undeclared },
  { name: "a class repeated", dataClass: "finance finance", want: undeclared, overHttp: false },
]);

const humanRows = table({ ...byPlanner, chain: [], target: "http:shared/read" }, [
  { name: "the person has the data of its first entry agent's tool", dataClass: "finance.entries", want: allow },
  { name: "the person has the data of its second entry agent's tool", dataClass: "law", want: allow },
  { name: "the person has no data that only a later agent declares", dataClass: "crm", want: undeclared },
  {
    name: "the person asks a tool for several classes that are declared one by one",
    dataClass: "finance law",
    want: undeclared,
  },
]);

/** Delegating: the classes that the agent, or transitively its downstream agents, declare. */
const agentRows = table(
  {
    ...byPlanner,
    target: "clerk",
    targetKind: "agent",
    dataClass: "finance",
    narrowedTo: ["finance", "crm", "audit", "law"],
  },
  [
    { name: "data that the agent declares", want: allow },
    { name: "data within what the agent declares", dataClass: "finance.entries", want: allow },
    { name: "data that an agent further down declares", dataClass: "audit.log", want: allow },
    { name: "data within what an agent further down declares", dataClass: "audit.log.today", want: allow },
    { name: "data around what an agent further down declares", dataClass: "audit", want: undeclared },
    { name: "data that no downstream agent declares", dataClass: "law", want: undeclared },
    { name: "data whose name begins like a declared class", dataClass: "financeX", want: undeclared },
    { name: "several classes, all declared", dataClass: "finance crm audit.log", want: allow },
    { name: "several classes, the first undeclared", dataClass: "law finance", want: undeclared },
    { name: "several classes, the last undeclared", dataClass: "finance law", want: undeclared },
  ],
);

const humanDelegationRows = table(
  { ...byPlanner, chain: [], target: "planner", targetKind: "agent", dataClass: "finance" },
  [
    { name: "the person delegates data that the entry agent declares", dataClass: "finance.entries", want: allow },
    { name: "the person delegates data that a later agent declares", want: allow },
    { name: "the person delegates several classes", dataClass: "finance audit.log", want: allow },
    { name: "the person delegates data of another entry agent", dataClass: "law", want: undeclared },
    { name: "an agent without tools has no data to be delegated", target: "mute", want: undeclared },
  ],
);

/** Check 8. */
export const dataClassVectors = [...toolRows, ...smuggledRows, ...humanRows, ...agentRows, ...humanDelegationRows];

const narrowed = (...narrowedTo: readonly string[]) => ({ narrowedTo });

/** Check 9, from hop 2 on. */
export const narrowingVectors = [
  ...table({ ...byPlanner, target: "http:shared/read", dataClass: "finance.entries" }, [
    { name: "data equal to what the token was narrowed to", ...narrowed("finance.entries"), want: allow },
    { name: "data within what the token was narrowed to", ...narrowed("finance"), want: allow },
    { name: "data around what the token was narrowed to", ...narrowed("finance.entries.drafts"), want: widened },
    { name: "data beside what the token was narrowed to", ...narrowed("finance.reports"), want: widened },
    { name: "data whose name begins like the narrowed class", ...narrowed("finance.entr"), want: widened },
    { name: "data within the second of several classes", ...narrowed("crm", "finance"), want: allow },
    { name: "data within none of several classes", ...narrowed("crm", "finance.reports"), want: widened },
  ]),
  ...table({ ...byPlanner, target: "clerk", targetKind: "agent", dataClass: "finance.entries crm" }, [
    { name: "several classes, each within the narrowed ones", ...narrowed("finance", "crm"), want: allow },
    { name: "several classes, the last outside the narrowed ones", ...narrowed("finance"), want: widened },
    { name: "several classes, the first outside the narrowed ones", ...narrowed("crm"), want: widened },
    { name: "a delegation cannot widen either", dataClass: "finance", ...narrowed("finance.entries"), want: widened },
  ]),
  ...table({ ...byPlanner, chain: ["planner", "clerk"], target: "http:ledger/post", dataClass: "finance.entries" }, [
    { name: "hop 3 within what hop 2 narrowed to", ...narrowed("finance"), want: allow },
    { name: "hop 3 outside what hop 2 narrowed to", ...narrowed("audit.log"), want: widened },
  ]),
  ...table({ ...byPlanner, chain: [], target: "http:shared/read", dataClass: "finance.entries" }, [
    { name: "a root grant is as wide as the consent", want: allow },
  ]),
];
