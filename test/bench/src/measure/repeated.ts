import { countCpu, cpuFigures, type Processes } from "./cpu.ts";
import { ascending, quantile } from "./statistics.ts";
import type { Subject } from "./trial.ts";

export interface RepeatedOptions {
  readonly name: string;
  readonly seconds: number;
  /** Concurrency; each calls again after its response. Default 1. */
  readonly connections?: number;
  readonly processes?: Processes;
  /** Before each sample, to make fresh tokens. */
  readonly prepare?: () => Promise<void>;
  /** Operations between two readings of the clock, for those shorter than its resolution. Default 1. */
  readonly batch?: number;
  readonly act: (connection: number) => unknown;
}

/** A subject that this process repeats by itself: one statement, one signature. */
export const repeated = ({ name, prepare, ...options }: RepeatedOptions): Subject => ({
  name,
  async sample() {
    await prepare?.();
    return sampleOf(options);
  },
});

async function sampleOf({ seconds, connections = 1, processes = {}, batch = 1, act }: Omit<RepeatedOptions, "name">) {
  const latenciesMs: number[] = [];
  const count = countCpu(processes);
  const started = performance.now();
  const end = started + seconds * 1000;
  const loop = async (connection: number) => {
    for (let now = performance.now(); now < end; ) {
      for (let done = 0; done < batch; done++) {
        const acting = act(connection);
        if (acting instanceof Promise) await acting;
      }
      const then = performance.now();
      latenciesMs.push((then - now) / batch);
      now = then;
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => loop(connection)));
  const elapsedSeconds = (performance.now() - started) / 1000;
  const done = latenciesMs.length * batch;
  const cpu = cpuFigures(count(), done);
  // Here this process is the measured one.
  const whole = (cpu["cpu us"] ?? 0) + (cpu["cpu load us"] ?? 0);
  return { rate: done / elapsedSeconds, p50Ms: quantile(ascending(latenciesMs), 0.5), ...cpu, "cpu us": whole };
}
