import type { DriftReport } from "../../src/index.ts";

export const edge = {
  scope: "expenses",
  chain: ["planner"],
  caller: "planner",
  target: "http:mail/send",
  targetKind: "tool",
  dataClass: "mail",
  hop: 2,
  taint: "trusted_internal",
  outcomes: ["allow"],
  count: 2,
  undecided: 0,
  seenAt: { file: "traces/1.jsonl", line: 7 },
} as const;

/** A report with every kind of finding, and with hostile names. */
export const drifting: DriftReport = {
  result: "error",
  summary: { edges: 3, events: 9, runs: 2, undeclared: 2, expectedDenials: 1, unexercised: 1, lostEvents: 4 },
  undeclared: [
    {
      edge,
      reason: "TARGET_NOT_DECLARED",
      consentableScopes: [],
      remedy: "Declare it.",
      manifestFile: "m/planner.yaml",
    },
    {
      edge: { ...edge, target: '<"&>\u0000\n::error::x, 100%', count: 1 },
      reason: "TARGET_NOT_DECLARED",
      consentableScopes: [],
      remedy: "Declare it.",
    },
  ],
  expectedDenials: [
    {
      edge: { ...edge, target: "http:mail/shred", outcomes: ["deny"] },
      reason: "TARGET_NOT_DECLARED",
      consentableScopes: [],
      remedy: "Declare it.",
    },
  ],
  errors: [{ kind: "run_unended", message: "run r has no end", file: "traces/2.jsonl" }],
  warnings: [{ scope: "expenses", caller: null, target: "planner", targetKind: "agent", dataClass: null }],
};
export const passing: DriftReport = {
  result: "pass",
  summary: { edges: 1, events: 1, runs: 1, undeclared: 0, expectedDenials: 0, unexercised: 0, lostEvents: 0 },
  undeclared: [],
  expectedDenials: [],
  errors: [],
  warnings: [],
};
