import type { Patience, Watch } from "../machine/idle-gate.ts";
import type { Figures, Subject } from "../measure/trial.ts";
import { runTrial } from "../measure/trial.ts";
import { progress } from "../progress.ts";
import type { RunningServer } from "./node-server.ts";
import type { Stores } from "./stores.ts";

/** The duration of a run. */
export interface Pace {
  readonly isQuick: boolean;
  readonly rounds: number;
  /** More samples where a target is close to the measured value. */
  readonly closeRounds: number;
  readonly seconds: number;
  /** Longest wait for an idle machine, before each sample and in total. */
  readonly idleWaitMs: number;
  readonly patience: Patience;
}

export const fullPace = (): Pace => ({
  isQuick: false,
  rounds: 5,
  closeRounds: 15,
  seconds: 2,
  idleWaitMs: 60_000,
  patience: { leftMs: 20 * 60_000 },
});

export const quickPace = (): Pace => ({
  isQuick: true,
  rounds: 2,
  closeRounds: 3,
  seconds: 0.4,
  idleWaitMs: 300,
  patience: { leftMs: 10_000 },
});

/** The tools of a group of trials. */
export interface Bench {
  readonly pace: Pace;
  readonly stores: Stores;
  readonly upstream: RunningServer;
  readonly watch: Watch;
  /** Measures in turns, and keeps the figures. @param rounds default: those of the pace */
  trial(name: string, subjects: readonly (Subject | undefined)[], rounds?: number): Promise<void>;
  /** Records that a comparison is unavailable, and why. */
  missing(what: string, why: string): void;
  /** Stops it when the run ends, or sooner. */
  use<T extends { stop(): Promise<unknown> }>(started: T): T;
  /** A figure that is not sampled. */
  note(trial: string, subject: string, figure: string, value: number): void;
}

export interface Results {
  readonly figures: Map<string, Figures extends ReadonlyMap<string, infer S> ? S : never>;
  readonly missing: Map<string, string>;
  /** Groups of trials that failed, and why. */
  readonly failed: Map<string, string>;
}

/** The share of the machine that others may take during a sample. */
export const idleAtMost = 0.05;

export function createBench(
  pace: Pace,
  parts: Pick<Bench, "stores" | "upstream" | "watch">,
): { readonly bench: Bench; readonly results: Results; stopAll(): Promise<void> } {
  const results: Results = { figures: new Map(), missing: new Map(), failed: new Map() };
  const started: { stop(): Promise<unknown> }[] = [];
  const { isQuick, idleWaitMs, patience } = pace;
  const options = {
    watch: parts.watch,
    gate: { atMost: idleAtMost, waitMs: idleWaitMs, patience, lookMs: 300 },
    progress,
  };
  return {
    results,
    bench: {
      ...parts,
      pace,
      async trial(name, subjects, rounds = pace.rounds) {
        const present = subjects.filter((subject) => subject !== undefined);
        const figures = await runTrial(
          { name, subjects: present },
          { ...options, rounds, extraRounds: isQuick ? 0 : rounds },
        );
        for (const [key, summary] of figures) results.figures.set(key, summary);
      },
      missing: (what, why) => void results.missing.set(what, why),
      use(one) {
        started.push(one);
        return one;
      },
      note(trial, subject, figure, value) {
        const summary = { median: value, least: value, most: value, samples: 1, clean: 1 };
        results.figures.set(`${trial}/${subject}/${figure}`, summary);
      },
    },
    async stopAll() {
      for (const one of started.reverse()) await one.stop();
    },
  };
}
