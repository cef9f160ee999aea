import { within } from "../ports/deadline.ts";

/** What readiness asks of one store. */
export interface Probe {
  readonly name: "database" | "cache_store" | "restore" | "draining";
  /** Resolves when the store serves just now; rejects, or does not answer in time, when it does not. */
  check(): Promise<void>;
}

export type ProbeName = Probe["name"];

const probeBoundMs = 1_000;

/** What does not answer just now. */
export async function failingProbes(probes: readonly Probe[]): Promise<readonly ProbeName[]> {
  const answers = await Promise.all(probes.map(async (probe) => ((await answersInTime(probe)) ? [] : [probe.name])));
  return answers.flat();
}

/** Whether the probe answered well within the bound. */
async function answersInTime(probe: Probe): Promise<boolean> {
  try {
    await within(probeBoundMs, probe.check(), () => new Error(`no answer within ${probeBoundMs} ms`));
    return true;
  } catch {
    return false;
  }
}

/** Whoever asks while an answer is on its way gets that one: a probe storm is one probe. */
export function singleFlight<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= ask().finally(() => {
      running = undefined;
    });
    return running;
  };
}
