import { agent, tool } from "../manifest.ts";
import { allow, deny, table } from "../vector.ts";

const manifests = {
  planner: agent("expenses", 4, {
    tools: [tool("http:ledger/read", "finance")],
    downstream_agents: ["auditor"],
  }),
  auditor: agent("expenses", 4, { tools: [tool("http:ledger/audit", "finance")] }),
};

const atHop1 = {
  manifests,
  scope: "expenses",
  chain: [],
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance",
} as const;

const atHop3 = { ...atHop1, chain: ["planner", "auditor"], target: "http:ledger/audit" };

/** Check 1. */
export const sessionVectors = [
  ...table(atHop1, [
    { name: "a live session passes at hop 1", want: allow },
    { name: "an expired session ends hop 1", present: { session: "expired" }, want: deny("SESSION_EXPIRED") },
    { name: "a revoked session ends hop 1", present: { session: "revoked" }, want: deny("SESSION_REVOKED") },
    {
      name: "a session both expired and revoked has the expiry as reason",
      present: { session: "expired and revoked" },
      want: deny("SESSION_EXPIRED"),
    },
    {
      name: "an expired session ends a delegation by the person",
      target: "planner",
      targetKind: "agent",
      present: { session: "expired" },
      want: deny("SESSION_EXPIRED"),
    },
  ]),
  ...table(atHop3, [
    { name: "a live session passes at hop 3", want: allow },
    { name: "an expired session ends hop 3", present: { session: "expired" }, want: deny("SESSION_EXPIRED") },
    { name: "a revoked session ends hop 3", present: { session: "revoked" }, want: deny("SESSION_REVOKED") },
  ]),
];
