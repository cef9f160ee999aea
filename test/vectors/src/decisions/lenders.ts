import type { DenyReason } from "@svc/core";
import { acrossScopes, agent, type Manifests, tool } from "../manifest.ts";
import { allow, consentTo, type DecisionVector, deny, type PresentFacts, table, type Wanted } from "../vector.ts";

/** How an agent that lends a tool is at present; by reason, in the order of the checks. */
const denials = { revoked: "AGENT_REVOKED", quarantined: "AGENT_QUARANTINED", blocked: "TARGET_BLOCKED" } as const;
type Denial = keyof typeof denials;
type Standing = Denial | "admitted";
const standings: readonly Standing[] = ["admitted", "revoked", "quarantined", "blocked"];

const lenders = ["clerk", "planner", "tutor"] as const;
const read = tool("http:ledger/read", "finance");

/** The agents of the list, each as it is given. */
function standing(given: Readonly<Record<string, Standing>>): PresentFacts {
  const pairs = Object.entries(given);
  const identities = pairs.flatMap(([name, is]) => (is === "revoked" || is === "quarantined" ? [[name, is]] : []));
  const blocked = pairs.filter(([, is]) => is === "blocked");
  return {
    identities: Object.fromEntries(identities),
    blocks: blocked.map(([ref]) => ({ kind: "agent", ref })),
  };
}

/** Every selection of one to three, the order aside. */
const selections = lenders.flatMap((_, last) =>
  lenders.slice(0, last + 1).reduce<readonly (readonly Standing[])[]>(
    (begun) => {
      const ends = (chosen: readonly Standing[]) => standings.slice(standings.indexOf(chosen.at(-1) ?? "admitted"));
      return begun.flatMap((chosen) => ends(chosen).map((next) => [...chosen, next]));
    },
    [[]],
  ),
);

function wanted(chosen: readonly Standing[]): Wanted {
  if (chosen.includes("admitted")) return allow;
  const order = Object.keys(denials) as Denial[];
  const first = order.find((denial) => chosen.includes(denial));
  return first === undefined ? allow : deny(denials[first]);
}

const call = { scope: "expenses", chain: [], target: "http:ledger/read", targetKind: "tool" } as const;

const combinations = selections.map((chosen): DecisionVector => {
  const given = Object.fromEntries(chosen.map((is, index) => [lenders[index], is]));
  const manifests: Manifests = Object.fromEntries(
    Object.keys(given).map((name) => [name, agent("expenses", 4, { tools: [read] })]),
  );
  const name = `a tool that ${chosen.length} agents lend: ${chosen.join(", ")}`;
  return { ...call, name, manifests, dataClass: "finance", present: standing(given), want: wanted(chosen) };
});

const manifests = {
  planner: acrossScopes(
    agent("expenses", 4, {
      tools: [
        read,
        tool("http:ledger/post", "finance crm"),
        tool("http:ledger/list", "finance"),
        tool("mcp:files/read", "docs"),
      ],
      downstream_agents: ["clerk", "auditor"],
    }),
    agent("travel", 4, { tools: [tool("http:trips/book", "finance")] }),
  ),
  tutor: agent("expenses", 4, {
    tools: [tool("http:ledger/post", "finance"), tool("http:ledger/list", "finance.entries"), read],
  }),
  clerk: agent("expenses", 4, { tools: [read, tool("http:ledger/void", "finance")] }),
  auditor: agent("expenses", 4, { tools: [tool("http:ledger/audit", "finance")], entry: true }),
};

const base = { ...call, manifests, dataClass: "finance" };

/** Each row holds for every denial. */
const underDenial = (is: Denial, reason: DenyReason): readonly DecisionVector[] =>
  table(base, [
    {
      name: `an agent that is no entry lends nothing: the entry agents are ${is}`,
      present: standing({ planner: is, tutor: is }),
      want: deny(reason),
    },
    {
      name: `an agent that is no entry and is ${is} takes nothing away`,
      present: standing({ clerk: is }),
      want: allow,
    },
    {
      name: `an entry agent that does not declare the tool lends nothing: those that do are ${is}`,
      target: "http:ledger/post",
      present: standing({ planner: is, tutor: is }),
      want: deny(reason),
    },
    {
      name: `the only agent that lends the tool for this data class is ${is}`,
      target: "http:ledger/post",
      dataClass: "crm",
      present: standing({ planner: is }),
      want: deny(reason),
    },
    {
      name: `an agent that lends a part of the data class is ${is}, another lends it whole`,
      target: "http:ledger/list",
      dataClass: "finance.entries",
      present: standing({ tutor: is }),
      want: allow,
    },
    {
      name: `the agent that lends the whole data class is ${is}, another lends a part`,
      target: "http:ledger/list",
      present: standing({ planner: is }),
      want: deny(reason),
    },
    {
      name: `a data class that no agent lends, where one of two agents is ${is}`,
      target: "http:ledger/post",
      dataClass: "law",
      present: standing({ planner: is }),
      want: deny("DATA_CLASS_NOT_DECLARED"),
    },
    {
      name: `a data class that no agent lends, where both agents are ${is}`,
      target: "http:ledger/post",
      dataClass: "law",
      present: standing({ planner: is, tutor: is }),
      want: deny(reason),
    },
    {
      name: `the protocol of an MCP server is lent with its tools by an agent that is ${is}`,
      target: "mcp:files",
      dataClass: "protocol",
      present: standing({ planner: is }),
      want: deny(reason),
    },
    {
      name: `a decision does not reveal that the entry agents are ${is} where none declares the tool`,
      target: "http:no/where",
      present: standing({ planner: is, tutor: is, auditor: is }),
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: `a decision does not reveal that an entry agent is ${is} where it declares the tool under another scope`,
      target: "http:trips/book",
      present: standing({ planner: is }),
      want: consentTo("travel"),
    },
    {
      name: `the person delegates to an entry agent beside one that is ${is}`,
      target: "auditor",
      targetKind: "agent",
      present: standing({ planner: is, tutor: is }),
      want: allow,
    },
    {
      name: `an agent calls what the person cannot, since those that lend it to the person are ${is}`,
      chain: ["auditor"],
      target: "http:ledger/audit",
      present: standing({ planner: is, tutor: is }),
      want: allow,
    },
  ]);

/** Checks 2 to 4 at hop 1 (docs/reference/decision.md#hop-1). */
export const lenderVectors = [
  ...combinations,
  ...Object.entries(denials).flatMap(([is, reason]) => underDenial(is as Denial, reason)),
  ...table(base, [
    {
      name: "one lender that is revoked and blocked",
      target: "http:ledger/post",
      dataClass: "crm",
      present: { identities: { planner: "revoked" }, blocks: [{ kind: "agent", ref: "planner" }] },
      want: deny("AGENT_REVOKED"),
    },
    {
      name: "a block on the tool covers it while all lenders are admitted",
      present: { blocks: [{ kind: "tool", ref: "http:ledger/read" }] },
      want: deny("TARGET_BLOCKED"),
    },
    {
      name: "a quarantined lender is the reason before a block on the tool",
      present: {
        identities: { planner: "quarantined", tutor: "quarantined" },
        blocks: [{ kind: "tool", ref: "http:ledger/read" }],
      },
      want: deny("AGENT_QUARANTINED"),
    },
    {
      name: "a tool block with the name of a lender does not block the lender",
      present: {
        blocks: [
          { kind: "tool", ref: "planner" },
          { kind: "tool", ref: "tutor" },
        ],
      },
      want: allow,
    },
    {
      name: "identity required: an agent that never enrolled lends its tools",
      present: { identityRequired: true, identities: { planner: "none", tutor: "revoked" } },
      want: allow,
    },
    {
      name: "an expired session is the reason before its lenders",
      present: { session: "expired", identities: { planner: "revoked", tutor: "revoked" } },
      want: deny("SESSION_EXPIRED"),
    },
  ]),
];
