import type { DecisionRecord } from "@svc/core";

export const sessionId = "session-1";

/** A recorded allow, as authorize writes it; a table row changes its subject. */
export const recorded = (actionId: string, hop: number, changes: Partial<DecisionRecord> = {}): DecisionRecord => ({
  actionId,
  recordVersion: 2,
  sessionId,
  stage: "authorize",
  hop,
  chain: ["planner", "clerk", "auditor"].slice(0, hop - 1),
  actingAgent: ["alice", "planner", "clerk"][hop - 1] ?? "auditor",
  target: ["planner", "clerk", "http:ledger/read"][hop - 1] ?? "http:ledger/read",
  targetKind: hop < 3 ? "agent" : "tool",
  dataClass: "finance",
  decision: "allow",
  denyReason: null,
  recoverable: false,
  enforced: true,
  privileged: false,
  taint: "trusted_internal",
  taintSource: null,
  policyVersion: 1,
  guaranteeLevel: hop < 3 ? null : "network",
  parentActionId: hop === 1 ? null : `action-${hop - 1}`,
  decidedAtMs: 1_000_000 + hop,
  present: null,
  ...changes,
});
