/**
 * The checks in order (docs/reference/decision.md#the-ten-checks); the first that fails gives the reason. A `caller` check judges who
 * calls and needs no target: renewal runs these alone. A `call` check judges the call itself.
 */
export const checkKinds = {
  session: "caller",
  revocation: "caller",
  identity: "caller",
  block: "caller",
  path: "call",
  hop_budget: "call",
  target: "call",
  data_class: "call",
  narrowing: "call",
  taint: "call",
} as const;

export type CheckName = keyof typeof checkKinds;
export const checkNames = Object.keys(checkKinds) as readonly CheckName[];
