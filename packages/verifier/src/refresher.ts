import type { VerifierPorts } from "./ports.ts";

export type Refresher = ReturnType<typeof startRefreshing>;

export interface RefresherOptions {
  readonly attempt: () => Promise<void>;
  readonly intervalMs: number;
  readonly onFailure: (error: unknown) => void;
}

const firstRetryMs = 1_000;

/** Starts immediately; repeats at the interval +-10 %, and sooner after a failure. One attempt at a time. */
export function startRefreshing(
  { after, random }: Pick<VerifierPorts, "after" | "random">,
  { attempt, intervalMs, onFailure }: RefresherOptions,
) {
  let underWay: Promise<void> | undefined;
  let cancel: (() => void) | undefined;
  let isStopped = false;
  let failures = 0;

  const nextDelayMs = () =>
    failures === 0 ? intervalMs * (0.9 + 0.2 * random()) : Math.min(intervalMs, firstRetryMs * 2 ** (failures - 1));

  const run = async () => {
    cancel?.();
    try {
      await attempt();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isStopped) onFailure(error);
    } finally {
      underWay = undefined;
      cancel = isStopped ? undefined : after(nextDelayMs(), refresh);
    }
  };

  const refresh = (): Promise<void> => {
    underWay ??= isStopped ? Promise.resolve() : run();
    return underWay;
  };

  return {
    /** Resolves after the first attempt, also a failed one. */
    ready: refresh(),
    /** Starts an attempt, or joins the one under way. Resolves after it, also after a failed one. */
    refresh,
    /** The attempt under way. */
    underWay: () => underWay,
    stop: () => {
      isStopped = true;
      cancel?.();
    },
  };
}
