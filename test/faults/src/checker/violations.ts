import type { Arrival, Evidence, RecordedDecision } from "./evidence.ts";

/** Every way to violate a guarantee. */
export const violationKinds = [
  /** An upstream was called without a record. */
  "call_without_record",
  /** An upstream was called although the record is a deny. */
  "call_under_deny",
  /** The record is of another session, target or data class. */
  "call_of_another_allow",
  /** The allow was never spent. */
  "call_without_spend",
  /** An enforced upstream was called without a token of ours. */
  "call_without_token",
  /** One token, or two of one allow, reached an upstream twice. */
  "token_used_twice",
  /** Two spends of one allow, or of one token. */
  "spent_twice",
  /** A spent token was exchanged again. */
  "replay_granted",
  /** A privileged call had no minted transaction token of its own action. */
  "privileged_without_transaction",
  /** The agent's call was reported as blocked, and the upstream received it. */
  "blocked_yet_made",
  /** The agent's call was reported as made, and no upstream received it. */
  "answered_yet_not_made",
  /** An observed call was forwarded without a record. */
  "observed_without_record",
  /** The delegation chain of a call does not lead back to the person. */
  "chain_incomplete",
] as const;
export type ViolationKind = (typeof violationKinds)[number];

export interface Violation {
  readonly kind: ViolationKind;
  /** The call, or the action where no single call is responsible. */
  readonly of: string;
}

/** Joins the evidence of agents, upstreams and database. Empty for a run without violations. */
export function findViolations(evidence: Evidence): readonly Violation[] {
  const records = new Map(evidence.decisions.map((decision) => [decision.actionId, decision]));
  const spent = new Set(evidence.spends.flatMap(({ actionId }) => actionId ?? []));
  const minted = new Set(evidence.mints);
  const enforced = evidence.arrivals.filter(({ target }) => target !== null);
  return [
    ...enforced.flatMap((arrival) => {
      const kind = faultOfCall(arrival, { records, spent, minted });
      return kind === undefined ? [] : [{ kind, of: arrival.callId }];
    }),
    ...repeated(enforced.map(({ bearer }) => bearer?.jti)).map(violation("token_used_twice")),
    ...repeated(enforced.map(({ bearer }) => bearer?.actionId)).map(violation("token_used_twice")),
    ...repeated(evidence.spends.map(({ jtiHash }) => jtiHash)).map(violation("spent_twice")),
    ...repeated(evidence.spends.map(({ actionId }) => actionId ?? undefined)).map(violation("spent_twice")),
    ...evidence.replaysGranted.map(violation("replay_granted")),
    ...lies(evidence),
    ...unlisted(evidence),
  ];
}

interface Records {
  readonly records: ReadonlyMap<string, RecordedDecision>;
  readonly spent: ReadonlySet<string>;
  readonly minted: ReadonlySet<string>;
}

function faultOfCall({ target, bearer, transactionOf }: Arrival, all: Records): ViolationKind | undefined {
  if (bearer === null) return "call_without_token";
  const record = all.records.get(bearer.actionId);
  if (record === undefined) return "call_without_record";
  if (record.decision !== "allow") return "call_under_deny";
  const isOfRecord =
    record.sessionId === bearer.sessionId &&
    record.target === bearer.target &&
    record.target === target &&
    record.dataClass === bearer.dataClass;
  if (!isOfRecord) return "call_of_another_allow";
  if (!all.spent.has(bearer.actionId)) return "call_without_spend";
  const isBound = transactionOf === bearer.actionId && all.minted.has(bearer.actionId);
  if (record.privileged && !isBound) return "privileged_without_transaction";
  return isComplete(record, all) ? undefined : "chain_incomplete";
}

/** The rules of a chain read (docs/reference/record.md#chain-reads), applied to the records directly. */
function isComplete(record: RecordedDecision, all: Records): boolean {
  let at = record;
  while (at.hop > 1) {
    const parent = at.parentActionId === null ? undefined : all.records.get(at.parentActionId);
    if (parent?.decision !== "allow" || !all.spent.has(parent.actionId)) return false;
    if (parent.sessionId !== at.sessionId || parent.hop !== at.hop - 1 || parent.target !== at.actingAgent)
      return false;
    at = parent;
  }
  return true;
}

/** Compares the agents' results with the upstreams' requests. */
function lies({ replies, arrivals }: Evidence): Violation[] {
  const made = new Set(arrivals.map(({ callId }) => callId));
  return replies.flatMap(({ callId, status, blocked }): Violation[] => {
    if (blocked !== null && made.has(callId)) return [{ kind: "blocked_yet_made", of: callId }];
    if (status === 200 && blocked === null && !made.has(callId)) return [{ kind: "answered_yet_not_made", of: callId }];
    return [];
  });
}

/**
 * An observed call has no identifier to join on, by design; so a session's recorded observed denies are counted and
 * compared with its forwarded calls.
 */
function unlisted({ arrivals, decisions }: Evidence): Violation[] {
  const listed = decisions.filter(({ decision, enforced }) => decision === "deny" && !enforced).length;
  const observed = arrivals.filter(({ target }) => target === null);
  return observed.slice(listed).map(({ callId }) => ({ kind: "observed_without_record", of: callId }));
}

const violation = (kind: ViolationKind) => (of: string) => ({ kind, of });

function repeated(values: readonly (string | undefined)[]): readonly string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const value of values) {
    if (value === undefined) continue;
    if (seen.has(value)) twice.add(value);
    seen.add(value);
  }
  return [...twice];
}
