import type { ChainBreakReason, DecisionRecord, RecordedHop } from "@svc/core";
import { recorded } from "./records.ts";

/** One row: the chain from an action back to the person (docs/reference/record.md#chain-reads). */
export interface ChainVector {
  /** The row's guarantee. */
  readonly name: string;
  /** The recorded hops, in order; the last is the action whose chain is read. */
  readonly hops: readonly RecordedHop[];
  readonly want: {
    /** The hops reached. */
    readonly reached: readonly number[];
    readonly break: { readonly atHop: number; readonly reason: ChainBreakReason } | null;
  };
}

type Change = Partial<DecisionRecord> & { readonly exchanged?: boolean };

/** Alice delegates to planner, planner to clerk, clerk calls a tool; `changes` by hop, a null hop is missing. */
function story(changes: Readonly<Record<number, Change | null>> = {}, length = 3): readonly RecordedHop[] {
  return Array.from({ length }, (_, index) => index + 1).flatMap((hop) => {
    const change = changes[hop];
    if (change === null) return [];
    const { exchanged = hop < length, ...record } = change ?? {};
    return [{ record: recorded(`action-${hop}`, hop, record), exchanged }];
  });
}

const complete = (...reached: readonly number[]): ChainVector["want"] => ({ reached, break: null });
const broken = (reason: ChainBreakReason, atHop: number, ...reached: readonly number[]): ChainVector["want"] => ({
  reached,
  break: { atHop, reason },
});

const row = (name: string, hops: readonly RecordedHop[], want: ChainVector["want"]): ChainVector => ({
  name,
  hops,
  want,
});

export const chainWalkVectors: readonly ChainVector[] = [
  row("a chain of one hop is complete", story({}, 1), complete(1)),
  row("a chain of two hops is complete", story({}, 2), complete(1, 2)),
  row("a chain of three hops is complete", story(), complete(1, 2, 3)),
  row("the action itself need not have been exchanged", story({ 3: { exchanged: false } }), complete(1, 2, 3)),
  row(
    "the action itself may be a deny",
    story({ 3: { decision: "deny", denyReason: "TAINT_BLOCKED" } }),
    complete(1, 2, 3),
  ),
  row(
    "the action itself may be the exchange's own deny",
    story({ 3: { stage: "exchange", decision: "deny" } }),
    complete(1, 2, 3),
  ),

  row("a token without an action at hop 3", story({ 3: { parentActionId: null } }), broken("LEGACY_TOKEN", 3, 3)),
  row("a token without an action at hop 2", story({ 2: { parentActionId: null } }), broken("LEGACY_TOKEN", 2, 2, 3)),

  row("no record of the parent at hop 3", story({ 2: null }), broken("PARENT_NOT_FOUND", 3, 3)),
  row("no record of the parent at hop 2", story({ 1: null }), broken("PARENT_NOT_FOUND", 2, 2, 3)),
  row(
    "a parent that is no recorded action",
    story({ 3: { parentActionId: "action-9" } }),
    broken("PARENT_NOT_FOUND", 3, 3),
  ),

  row("a parent of another session", story({ 2: { sessionId: "session-2" } }), broken("PARENT_MISMATCH", 3, 3)),
  row("a parent of the same hop", story({ 2: { hop: 3 } }), broken("PARENT_MISMATCH", 3, 3)),
  row(
    "a parent two hops before, though it delegated to the caller",
    story({ 1: { target: "clerk" }, 3: { parentActionId: "action-1" } }),
    broken("PARENT_MISMATCH", 3, 3),
  ),
  row("a parent of a later hop", story({ 2: { hop: 4 } }), broken("PARENT_MISMATCH", 3, 3)),
  row(
    "an action that names itself as its parent",
    story({ 3: { parentActionId: "action-3" } }),
    broken("PARENT_MISMATCH", 3, 3),
  ),
  row(
    "a parent that was denied",
    story({ 2: { decision: "deny", denyReason: "TAINT_BLOCKED" } }),
    broken("PARENT_MISMATCH", 3, 3),
  ),
  row(
    "a parent that was denied in observe mode",
    story({ 2: { decision: "deny", enforced: false } }),
    broken("PARENT_MISMATCH", 3, 3),
  ),
  row("a parent whose target is not the caller", story({ 2: { target: "auditor" } }), broken("PARENT_MISMATCH", 3, 3)),
  row(
    "a mismatch further up keeps the hops up to it",
    story({ 1: { target: "lawyer" } }),
    broken("PARENT_MISMATCH", 2, 2, 3),
  ),

  row(
    "a parent that was never exchanged at hop 3",
    story({ 2: { exchanged: false } }),
    broken("PARENT_INCOMPLETE", 3, 3),
  ),
  row(
    "a parent that was never exchanged at hop 2",
    story({ 1: { exchanged: false } }),
    broken("PARENT_INCOMPLETE", 2, 2, 3),
  ),

  row(
    "a record of the version without a parent, at hop 3",
    story({ 3: { recordVersion: 1, parentActionId: null } }),
    broken("LEGACY_RECORD", 3, 3),
  ),
  row(
    "a record of the version without a parent, at hop 2",
    story({ 2: { recordVersion: 1, parentActionId: null } }),
    broken("LEGACY_RECORD", 2, 2, 3),
  ),
  row("a record of hop 1 needs no parent, in any version", story({ 1: { recordVersion: 1 } }), complete(1, 2, 3)),
];
