import { decide } from "./decide.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { DenyReason } from "./deny-reason.ts";
import type { Outcome } from "./kinds.ts";
import type { PolicyIndex } from "./policy-index.ts";
import { type RecordedPlace, recordedHop, recordedNarrowing } from "./recorded-hop.ts";
import { presentOf } from "./recorded-present.ts";

/** Everything in a record that the verdict depends on. */
export interface RecordedCall
  extends RecordedPlace,
    Pick<DecisionRecord, "target" | "targetKind" | "dataClass" | "decision" | "denyReason" | "present"> {}

export interface ChangedOutcome {
  readonly becomes: Outcome;
  /** Of the deny, recorded or new. */
  readonly denyReason: DenyReason | null;
}

/**
 * Decides a recorded call under another policy, with the session, denials and taint as recorded
 * (docs/reference/record.md#replay). Undefined if the outcome stays.
 */
export function redecide(policy: PolicyIndex, call: RecordedCall): ChangedOutcome | undefined {
  const verdict = decide(policy, recordedHop(call, narrowingOf(call)), presentOf(call.present));
  if (verdict.outcome === call.decision) return undefined;
  return verdict.outcome === "allow"
    ? { becomes: "allow", denyReason: call.denyReason }
    : { becomes: "deny", denyReason: verdict.reason };
}

/** What was allowed was within its narrowing, which no policy changes. */
const narrowingOf = (call: RecordedCall) =>
  call.decision === "allow" && call.narrowedTo === null ? undefined : recordedNarrowing(call);
