import { allowLifetimeMs, type DecisionRecord, type ExchangeRequest } from "@svc/core";
import { recorded, sessionId } from "./records.ts";

/** One row: which recorded decision an exchange may spend (docs/reference/routes.md#token-exchange). */
export interface AllowVector {
  /** The row's guarantee. */
  readonly name: string;
  readonly record: DecisionRecord;
  readonly request: ExchangeRequest;
  /** Between decision and exchange. */
  readonly elapsedMs: number;
  readonly want: boolean;
}

const request: ExchangeRequest = {
  sessionId,
  caller: "clerk",
  hop: 3,
  parentActionId: "action-2",
  target: "http:ledger/read",
  dataClass: "finance",
};

type Change = {
  readonly record?: Partial<DecisionRecord>;
  readonly request?: Partial<ExchangeRequest>;
  readonly elapsedMs?: number;
};

const row =
  (want: boolean) =>
  (name: string, change: Change): AllowVector => ({
    name,
    record: recorded("action-3", 3, change.record),
    request: { ...request, ...change.request },
    elapsedMs: change.elapsedMs ?? 5,
    want,
  });
const spends = row(true);
const refuses = row(false);

const root = { hop: 1, caller: "alice", parentActionId: null, target: "planner" } as const;
const rootRecord = recorded("action-1", 1);

export const allowVectors: readonly AllowVector[] = [
  spends("an allow of exactly this hop", {}),
  spends("an allow of hop 1, whose token has no parent action", { record: rootRecord, request: root }),
  spends("an allow that was decided in observe mode", { record: { enforced: false } }),
  spends("an allow with other facts, which the new decision checks", {
    record: {
      privileged: true,
      taint: "untrusted_external",
      taintSource: "declared",
      policyVersion: 2,
      guaranteeLevel: "full",
    },
  }),
  spends("an allow in its last millisecond", { elapsedMs: allowLifetimeMs }),
  spends("an allow of 60 seconds", { elapsedMs: 60_000 }),
  refuses("an allow one millisecond too old", { elapsedMs: 60_001 }),
  refuses("a deny", { record: { decision: "deny", denyReason: "TAINT_BLOCKED" } }),
  refuses("a deny in observe mode", {
    record: { decision: "deny", denyReason: "TAINT_BLOCKED", enforced: false },
  }),
  refuses("a decision of an exchange", { record: { stage: "exchange" } }),
  refuses("a decision of a mint", { record: { stage: "mint" } }),
  refuses("an allow of another session", { request: { sessionId: "session-2" } }),
  refuses("an allow of another caller", { request: { caller: "planner" } }),
  refuses("an allow of a caller in other letters", { request: { caller: "Clerk" } }),
  refuses("an allow of the hop before", { request: { hop: 4 } }),
  refuses("an allow of the hop after", { request: { hop: 2 } }),
  refuses("an allow under another parent", { request: { parentActionId: "action-1" } }),
  refuses("an allow under no parent", { record: { parentActionId: null } }),
  refuses("an allow requested with a root grant", { request: { parentActionId: null } }),
  refuses("an allow for another target", { request: { target: "http:ledger/post" } }),
  refuses("an allow for a target that begins the same", { request: { target: "http:ledger/rea" } }),
  refuses("an allow for another data class", { request: { dataClass: "crm" } }),
  refuses("an allow for a wider data class", { record: { dataClass: "finance.entries" } }),
  refuses("an allow for a narrower data class", { request: { dataClass: "finance.entries" } }),
  refuses("an allow for one more data class", { record: { dataClass: "finance crm" } }),
  spends("an allow for the data classes in another order", {
    record: { dataClass: "finance crm" },
    request: { dataClass: "crm finance" },
  }),
];
