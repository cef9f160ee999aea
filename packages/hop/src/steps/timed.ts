import type { Stage, StepOptions, StepPorts } from "./step.ts";

/** Runs one step and tells its duration, also where it throws. */
export async function timed<T>(
  stage: Stage,
  ports: StepPorts,
  { onStage }: StepOptions,
  step: () => Promise<T>,
): Promise<T> {
  if (!onStage) return step();
  const startedMs = ports.monotonicMs();
  try {
    return await step();
  } finally {
    onStage(stage, ports.monotonicMs() - startedMs);
  }
}
