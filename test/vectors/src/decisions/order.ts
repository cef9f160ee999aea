import { type DenyReason, denyReasons } from "@svc/core";
import { acrossScopes, agent, tool } from "../manifest.ts";
import { allow, type DecisionVector, deny, type PresentFacts, table } from "../vector.ts";

const vote = tool("http:ledger/vote", "finance", { accepts_taint: false });
const trips = agent("travel", 4, { tools: [tool("http:trips/book", "finance")] });

/** They delegate in a row; `last` has no hop left for a call. */
const manifests = {
  first: agent("expenses", 4, { downstream_agents: ["second"] }),
  second: agent("expenses", 4, { downstream_agents: ["third"] }),
  third: acrossScopes(agent("expenses", 4, { tools: [vote], downstream_agents: ["last"] }), trips),
  last: acrossScopes(agent("expenses", 4, { tools: [vote] }), trips),
};

const base = {
  manifests,
  scope: "expenses",
  chain: ["first", "second", "third"],
  target: vote.ref,
  targetKind: "tool",
  dataClass: "finance",
} as const;

interface Fault extends Partial<Omit<DecisionVector, "name" | "want" | "present">> {
  readonly present?: PresentFacts;
}

/** One way to fail each check, in separate members, so that two can be combined. */
const faults: Record<DenyReason, Fault> = {
  SESSION_EXPIRED: { present: { session: "expired" } },
  SESSION_REVOKED: { present: { session: "revoked" } },
  AGENT_REVOKED: { present: { identities: { first: "revoked" } } },
  AGENT_QUARANTINED: { present: { identities: { second: "quarantined" } } },
  IDENTITY_REQUIRED: { present: { identityRequired: true } },
  TARGET_BLOCKED: { present: { blocks: [{ kind: "scope", ref: "expenses" }] } },
  PATH_NOT_DECLARED: { hop: 6, overHttp: false },
  HOP_BUDGET_EXCEEDED: { chain: ["first", "second", "third", "last"] },
  TARGET_NOT_DECLARED: { target: "http:no/where" },
  SCOPE_NOT_CONSENTED: { target: "http:trips/book" },
  DATA_CLASS_NOT_DECLARED: { dataClass: "crm" },
  DATA_CLASS_WIDENED: { narrowedTo: ["finance.entries"] },
  TAINT_BLOCKED: { tokenTaint: "untrusted_external", overHttp: false },
};

/** Pairs of one check (session, identity), or impossible for a call: only a declared target can accept taint. */
const apart: readonly (readonly [DenyReason, DenyReason])[] = [
  ["SESSION_EXPIRED", "SESSION_REVOKED"],
  ["AGENT_QUARANTINED", "IDENTITY_REQUIRED"],
  ["TARGET_NOT_DECLARED", "SCOPE_NOT_CONSENTED"],
  ["TARGET_NOT_DECLARED", "TAINT_BLOCKED"],
  ["SCOPE_NOT_CONSENTED", "TAINT_BLOCKED"],
];

const refused = (reason: DenyReason, { tokenTaint }: Fault) =>
  deny(reason, tokenTaint === undefined ? {} : { taint: tokenTaint });

const identitiesOf = ({ present }: Fault) => present?.identities;

const both = (a: Fault, b: Fault): Fault => ({
  ...a,
  ...b,
  present: { ...a.present, ...b.present, identities: { ...identitiesOf(a), ...identitiesOf(b) } },
});

/** Each fault alone, to prove that a pair below has two. */
export const singleFaultVectors = table(base, [
  { name: "a call without a fault", want: allow },
  ...denyReasons.map((reason) => ({
    name: `${reason} alone`,
    ...faults[reason],
    want: refused(reason, faults[reason]),
  })),
]);

/** Two checks fail at once: the earlier gives the reason. */
export const faultPairVectors = table(
  base,
  denyReasons.flatMap((earlier, index) =>
    denyReasons
      .slice(index + 1)
      .filter((later) => !apart.some(([a, b]) => a === earlier && b === later))
      .map((later) => {
        const fault = both(faults[earlier], faults[later]);
        return { name: `${earlier} before ${later}`, ...fault, want: refused(earlier, fault) };
      }),
  ),
);
