import { type OwnRedis, type Random, seededRandom } from "@svc/test-support";
import type { Violation } from "../checker/violations.ts";
import type { Deployment } from "../deployment.ts";
import type { Tally } from "../load/load.ts";
import { type Outcome, runScenario } from "../stand.ts";
import { type Sample, takeSample } from "./sample.ts";
import { injectSmallFault } from "./small-faults.ts";
import { type Trend, trendsOf } from "./trend.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly onSample: (sample: Sample, calls: Tally) => void;
}

export interface Soaked {
  readonly outcome: Outcome;
  /** How often each fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
  readonly samples: readonly Sample[];
  readonly trends: readonly Trend[];
  readonly violations: readonly Violation[];
}

/** One fault per this many calls. */
const callsPerFault = 100;
const samples = 40;

/** A long load with a fault every hundredth call, sampled all the while. */
export async function soak(
  deployment: Deployment<OwnRedis>,
  { minutes, seed, onSample }: SoakOptions,
): Promise<Soaked> {
  const taken: Sample[] = [];
  const faults: Record<string, number> = {};
  const outcome = await runScenario(
    deployment,
    {
      name: "a fault every hundredth call",
      async inject({ load }) {
        const random: Random = seededRandom(seed);
        const startMs = performance.now();
        const elapsed = () => (performance.now() - startMs) / 1_000;
        const everySeconds = (minutes * 60) / samples;
        while (elapsed() < minutes * 60) {
          await load.made(callsPerFault);
          const fault = await injectSmallFault(deployment, random);
          faults[fault] = (faults[fault] ?? 0) + 1;
          if (elapsed() < (taken.length + 1) * everySeconds) continue;
          const sample = await takeSample(deployment, Math.round(elapsed()));
          taken.push(sample);
          onSample(sample, load.tally());
        }
        return Object.values(faults).reduce((sum, count) => sum + count, 0);
      },
    },
    { seed },
  );
  return { outcome, faults, samples: taken, trends: trendsOf(taken), violations: outcome.violations };
}
