/** One run: the events that were read, and the number that its end states. */
interface Run {
  readonly file: string;
  /** Content by number in the run. */
  readonly seen: Map<number, object>;
  ended: number | undefined;
  isContradictory: boolean;
}

export interface RunFault {
  readonly kind: "events_missing" | "run_unended" | "run_contradictory";
  readonly file: string;
  readonly run: string;
  /** Events known to be missing; at least 1. */
  readonly lost: number;
}

/** Counts the events of every run, however its lines are spread or repeated, and reports the missing ones. */
export class RunLedger {
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

  faults(): readonly RunFault[] {
    return [...this.#runs].flatMap(([run, known]) => faultsOf(run, known));
  }

  #runOf(file: string, run: string): Run {
    const known = this.#runs.get(run) ?? { file, seen: new Map(), ended: undefined, isContradictory: false };
    this.#runs.set(run, known);
    return known;
  }
}

function faultsOf(run: string, { file, seen, ended, isContradictory }: Run): readonly RunFault[] {
  const highest = [...seen.keys()].reduce((one, other) => Math.max(one, other), 0);
  const missing = Math.max(highest, ended ?? 0) - seen.size;
  const fault = (kind: RunFault["kind"], lost: number): RunFault => ({ kind, file, run, lost });
  return [
    ...(missing > 0 ? [fault("events_missing", missing)] : []),
    ...(ended === undefined ? [fault("run_unended", 1)] : []),
    ...(isContradictory || (ended !== undefined && highest > ended) ? [fault("run_contradictory", 1)] : []),
  ];
}
