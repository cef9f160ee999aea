import type { Edge, EdgeOutcome } from "./edge.ts";
import { readEvent } from "./edge-event.ts";
import { filesOf, type Line, linesOf } from "./trace-files.ts";

/** Why a trace cannot be trusted to be whole. */
export const traceFaultKinds = [
  /** No such file or folder, or it cannot be read. */
  "trace_unreadable",
  /** A folder without a trace file: nothing recorded into it. */
  "folder_empty",
  /** A file without a run: its recorder could not write. */
  "file_empty",
  /** A line that is not an event. */
  "line_unreadable",
  /** A gap in a run's numbering. */
  "events_missing",
  /** A run without its end: its process was killed, or its disk full. */
  "run_unended",
  /** A run that ended without an event: its process made no call. */
  "run_empty",
  /** Events after the end, or two that claim one place. */
  "run_contradictory",
] as const;
/** One of `traceFaultKinds`. */
export type TraceFaultKind = (typeof traceFaultKinds)[number];

/** One reason for which a trace cannot be trusted to be whole. */
export interface TraceFault {
  readonly kind: TraceFaultKind;
  readonly file: string;
  readonly line?: number;
  readonly run?: string;
  /** Events lost, as far as is known: 0 for a run and a folder without any, else at least 1. */
  readonly lost: number;
}

/** A call edge, however often it was recorded. */
export interface TracedEdge extends Omit<Edge, "outcome"> {
  readonly outcomes: readonly EdgeOutcome[];
  readonly count: number;
  /** How many of them no usable decision was returned for. */
  readonly undecided: number;
  /** Where it was recorded first. */
  readonly seenAt: { readonly file: string; readonly line: number };
}

/** Deduplicated recorded call edges, and what is known to be missing (docs/reference/client.md#value-objects). */
export interface EdgeTrace {
  readonly edges: readonly TracedEdge[];
  /** Events read, repeats of an edge included. */
  readonly events: number;
  readonly runs: number;
  readonly faults: readonly TraceFault[];
}

/**
 * Reads trace files, and all files of trace folders. Never throws: what cannot be read is a fault of the trace, by which
 * the gate refuses it.
 */
export function aggregateTrace(paths: string | readonly string[]): EdgeTrace {
  const edges = new Map<string, Counted>();
  const runs = new RunLedger();
  const faults: TraceFault[] = [];
  let events = 0;

  const take = (file: string, { number, text }: Line) => {
    const event = text === undefined ? undefined : readEvent(text);
    if (!event) faults.push({ kind: "line_unreadable", file, line: number, lost: 1 });
    else if (event.kind === "end") runs.noteEnd(file, event.run, event.events);
    else {
      const edge = known(edges, event.edge, { file, line: number });
      if (!runs.note(file, event.run, event.seq, edge)) return;
      events += 1;
      edge.count += 1;
      if (event.edge.outcome === "undecided") edge.undecided += 1;
      if (!edge.outcomes.includes(event.edge.outcome)) edge.outcomes.push(event.edge.outcome);
    }
  };

  const attempt = (path: string, read: () => void) => {
    try {
      read();
    } catch {
      faults.push({ kind: "trace_unreadable", file: path, lost: 1 });
    }
  };

  const readFile = (file: string) => {
    let isEmpty = true;
    for (const line of linesOf(file)) {
      take(file, line);
      isEmpty = false;
    }
    if (isEmpty) faults.push({ kind: "file_empty", file, lost: 1 });
  };

  for (const path of new Set([paths].flat())) {
    attempt(path, () => {
      const files = filesOf(path);
      if (files.length === 0) faults.push({ kind: "folder_empty", file: path, lost: 0 });
      for (const file of files) attempt(file, () => readFile(file));
    });
  }
  return { edges: [...edges.values()], events, runs: runs.size, faults: [...faults, ...runs.faults()] };
}

interface Counted extends TracedEdge {
  outcomes: EdgeOutcome[];
  count: number;
  undecided: number;
}

/** The human has a name in every session, and is the same caller in all of them. */
const keyOf = ({ scope, chain, target, targetKind, dataClass, narrowedTo, hop, taint }: Edge): string =>
  JSON.stringify([scope, chain, target, targetKind, dataClass, narrowedTo, hop, taint]);

function known(edges: Map<string, Counted>, edge: Edge, seenAt: TracedEdge["seenAt"]): Counted {
  const key = keyOf(edge);
  const before = edges.get(key);
  if (before) return before;
  const { outcome: _, ...same } = edge;
  const first = { ...same, outcomes: [], count: 0, undecided: 0, seenAt };
  edges.set(key, first);
  return first;
}

/** One run: the events that were read, and the number that its end states. */
interface Run {
  readonly file: string;
  /** Content by number in the run. */
  readonly seen: Map<number, object>;
  ended: number | undefined;
  isContradictory: boolean;
}

/** Counts the events of every run, however its lines are spread or repeated, and reports the missing ones. */
class RunLedger {
  readonly #runs = new Map<string, Run>();

  get size(): number {
    return this.#runs.size;
  }

  /** False for an event that was read before, as recorders may repeat one. @param content one object for one edge */
  note(file: string, run: string, seq: number, content: object): boolean {
    const known = this.#runOf(file, run);
    const before = known.seen.get(seq);
    if (before === content) return false;
    if (before !== undefined) known.isContradictory = true;
    known.seen.set(seq, content);
    return true;
  }

  noteEnd(file: string, run: string, events: number): void {
    const known = this.#runOf(file, run);
    if (known.ended !== undefined && known.ended !== events) known.isContradictory = true;
    known.ended = events;
  }

  faults(): readonly TraceFault[] {
    return [...this.#runs].flatMap(([run, known]) => faultsOf(run, known));
  }

  #runOf(file: string, run: string): Run {
    const known = this.#runs.get(run) ?? { file, seen: new Map(), ended: undefined, isContradictory: false };
    this.#runs.set(run, known);
    return known;
  }
}

function faultsOf(run: string, { file, seen, ended, isContradictory }: Run): readonly TraceFault[] {
  const highest = [...seen.keys()].reduce((one, other) => Math.max(one, other), 0);
  const missing = Math.max(highest, ended ?? 0) - seen.size;
  const fault = (kind: TraceFaultKind, lost: number): TraceFault => ({ kind, file, run, lost });
  return [
    ...(missing > 0 ? [fault("events_missing", missing)] : []),
    ...(ended === undefined ? [fault("run_unended", 1)] : []),
    ...(ended === 0 && seen.size === 0 ? [fault("run_empty", 0)] : []),
    ...(isContradictory || (ended !== undefined && highest > ended) ? [fault("run_contradictory", 1)] : []),
  ];
}
