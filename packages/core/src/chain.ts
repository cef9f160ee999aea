import type { DecisionRecord } from "./decision-record.ts";

export const chainBreakReasons = [
  "LEGACY_TOKEN",
  "PARENT_NOT_FOUND",
  "PARENT_MISMATCH",
  "PARENT_INCOMPLETE",
  "LEGACY_RECORD",
] as const;
export type ChainBreakReason = (typeof chainBreakReasons)[number];

export interface RecordedHop {
  readonly record: DecisionRecord;
  /** Whether an exchange spent this allow. */
  readonly exchanged: boolean;
}

export interface Chain {
  /** What was reached, in order of hop. */
  readonly hops: readonly DecisionRecord[];
  /** Null when the walk reached hop 1; else the hop where it ended. */
  readonly break: { readonly atHop: number; readonly reason: ChainBreakReason } | null;
}

/**
 * Walks from an action up through its parents to hop 1 (docs/reference/record.md#chain-reads). `reached` holds at least
 * the action and every ancestor that exists, by action id.
 */
export function walkChain(action: RecordedHop, reached: ReadonlyMap<string, RecordedHop>): Chain {
  const hops = [action.record];
  let current = action.record;
  while (current.hop > 1) {
    const step = parentOf(current, reached);
    if ("reason" in step) return { hops, break: { atHop: current.hop, reason: step.reason } };
    hops.unshift(step.parent);
    current = step.parent;
  }
  return { hops, break: null };
}

type Step = { readonly parent: DecisionRecord } | { readonly reason: ChainBreakReason };

function parentOf(child: DecisionRecord, reached: ReadonlyMap<string, RecordedHop>): Step {
  if (child.recordVersion < 2) return { reason: "LEGACY_RECORD" };
  if (child.parentActionId === null) return { reason: "LEGACY_TOKEN" };
  const parent = reached.get(child.parentActionId);
  if (parent === undefined) return { reason: "PARENT_NOT_FOUND" };
  if (!delegatedTo(child, parent.record)) return { reason: "PARENT_MISMATCH" };
  return parent.exchanged ? { parent: parent.record } : { reason: "PARENT_INCOMPLETE" };
}

const delegatedTo = (child: DecisionRecord, parent: DecisionRecord): boolean =>
  parent.sessionId === child.sessionId &&
  parent.hop === child.hop - 1 &&
  parent.decision === "allow" &&
  parent.target === child.actingAgent;
