import type { Outcome, Taint, TargetKind } from "@svc/core";

/** What was decided about a recorded call. `undecided`: no usable decision came back, and the call did not go out. */
export const edgeOutcomes = ["allow", "deny", "undecided"] as const satisfies readonly (Outcome | "undecided")[];
/** One of `edgeOutcomes`. */
export type EdgeOutcome = (typeof edgeOutcomes)[number];

/** One call edge: who asked whom for what, and from where in a delegation. */
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
  readonly hop: number;
  /** The effective taint of the decision. */
  readonly taint: Taint;
  readonly outcome: EdgeOutcome;
}

export const edgeEventVersion = 1;

/** Where an event stands: its run, its place in it from 1 on, and when (ISO 8601, UTC). */
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
    hop: edge.hop,
    taint: edge.taint,
    outcome: edge.outcome,
  };
  return `${JSON.stringify(event)}\n`;
}

/** The line that ends a run: whoever reads fewer events than it says has lost some. */
export const endLine = (run: string, events: number): string =>
  `${JSON.stringify({ v: edgeEventVersion, run, end: true, events })}\n`;
