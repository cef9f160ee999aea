import { type GateOptions, type Watch, whenIdle } from "../machine/idle-gate.ts";
import { type Observed, type Summary, summarize } from "./statistics.ts";

/** The figures of one sample of a subject. Units end the names. */
export type Sampled = Readonly<Record<string, number>>;

export interface Subject {
  readonly name: string;
  sample(): Promise<Sampled>;
}

/** Subjects that are compared, and so measured in turns. */
export interface Trial {
  readonly name: string;
  readonly subjects: readonly Subject[];
}

export interface TrialOptions {
  readonly rounds: number;
  /** Rounds that may be added for disturbed samples. */
  readonly extraRounds: number;
  readonly watch: Watch;
  readonly gate: Omit<GateOptions, "onWait">;
  readonly progress: (text: string) => void;
}

/** By `trial/subject/figure`. */
export type Figures = ReadonlyMap<string, Summary>;

export const figureKey = (trial: string, subject: string, figure: string): string => `${trial}/${subject}/${figure}`;

/** The share of the machine that others took during each sample is its own figure. */
export const foreignFigure = "foreign";

/**
 * Measures in turns, so that drift of the machine affects all subjects, and alternates the order every round, since
 * the second of a pair finds a warmer machine. Each sample waits until the machine is idle.
 */
export async function runTrial({ name, subjects }: Trial, options: TrialOptions): Promise<Figures> {
  const observed = new Map<string, Observed[]>();
  const note = (subject: string, figure: string, one: Observed) => {
    const key = figureKey(name, subject, figure);
    observed.set(key, [...(observed.get(key) ?? []), one]);
  };
  const { rounds, extraRounds } = options;
  let clean = 0;
  for (let round = 1; round <= rounds + extraRounds && clean < rounds; round++) {
    let isCleanRound = true;
    for (const subject of round % 2 === 1 ? subjects : subjects.toReversed()) {
      const { sampled, foreign } = await sampleOnce(subject, options, `${name}, round ${round}: ${subject.name}`);
      const isClean = foreign <= options.gate.atMost;
      isCleanRound &&= isClean;
      for (const [figure, value] of Object.entries(sampled)) note(subject.name, figure, { value, isClean });
      note(subject.name, foreignFigure, { value: foreign, isClean });
    }
    // Without disturbance every round is clean.
    if (isCleanRound) clean++;
  }
  return new Map([...observed].map(([key, values]) => [key, summarize(values)]));
}

async function sampleOnce(subject: Subject, { watch, gate, progress }: TrialOptions, what: string) {
  progress(what);
  await whenIdle(watch, { ...gate, onWait: (foreign) => progress(`${what}: waits, others take ${percent(foreign)}`) });
  const end = watch.begin();
  const sampled = await subject.sample();
  return { sampled, foreign: end() };
}

export const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
