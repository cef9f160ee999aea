import type { Outcome, Taint, TargetKind } from "@svc/core";

/** What was decided about a recorded call. `undecided`: no usable decision was returned, and the call was not made. */
export const edgeOutcomes = ["allow", "deny", "undecided"] as const satisfies readonly (Outcome | "undecided")[];
/** One of `edgeOutcomes`. */
export type EdgeOutcome = (typeof edgeOutcomes)[number];

/** One call edge: caller, target, data class and place in the delegation. */
export interface Edge {
  /** The consented scope; null where the recording process saw nothing of the session's first hop. */
  readonly scope: string | null;
  /** The agents up to the caller, without the human; empty at hop 1. */
  readonly chain: readonly string[];
  /** The chain's last agent; at hop 1 the human. */
  readonly caller: string;
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, space-separated. */
  readonly dataClass: string;
  /** The data classes the caller's token was narrowed to; null at hop 1. Absent where it is unknown. */
  readonly narrowedTo?: readonly string[] | null;
  readonly hop: number;
  /** The effective taint of the decision. */
  readonly taint: Taint;
  readonly outcome: EdgeOutcome;
}

export const edgeEventVersion = 1;

/** Identifies an event: its run, its number in it from 1, and its time (ISO 8601, UTC). */
export interface EventPlace {
  readonly run: string;
  readonly seq: number;
  readonly ts: string;
}

/** One line of a trace file, its line break included (docs/reference/drift.md#trace-files). */
export function edgeLine({ run, seq, ts }: EventPlace, edge: Edge): string {
  const event = {
    v: edgeEventVersion,
    run,
    seq,
    ts,
    scope: edge.scope,
    chain: edge.chain,
    caller: edge.caller,
    target: edge.target,
    target_kind: edge.targetKind,
    data_class: edge.dataClass,
    narrowed_to: edge.narrowedTo,
    hop: edge.hop,
    taint: edge.taint,
    outcome: edge.outcome,
  };
  return `${JSON.stringify(event)}\n`;
}

/** The line that ends a run. A reader that finds fewer events has lost some. */
export const endLine = (run: string, events: number): string =>
  `${JSON.stringify({ v: edgeEventVersion, run, end: true, events })}\n`;
