import type { LeaseOptions, LeaseResult, Unleased } from "./lease.ts";

interface Waiter {
  readonly settle: (result: LeaseResult) => void;
  readonly fail: (error: unknown) => void;
}

/** Runs once after `ms`; returns how to cancel. */
export type After = (ms: number, run: () => void) => () => void;

/** Without keeping the process alive. */
export const unreferenced: After = (ms, run) => {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
};

/** Calls that wait for a token, first come first served, each until its own deadline. */
export function waitingCalls(after: After) {
  const waiters = new Set<Waiter>();
  return {
    size: () => waiters.size,
    wait({ deadlineMs, signal }: LeaseOptions): Promise<LeaseResult> {
      const { promise, resolve, reject } = Promise.withResolvers<LeaseResult>();
      const leaving =
        <Value>(settle: (value: Value) => void) =>
        (value: Value) => {
          waiters.delete(waiter);
          cancelTimer();
          signal?.removeEventListener("abort", onAbort);
          settle(value);
        };
      const waiter: Waiter = { settle: leaving(resolve), fail: leaving(reject) };
      const onAbort = () => waiter.settle({ kind: "unusable", fault: "aborted" });
      const cancelTimer = after(deadlineMs, () => waiter.settle({ kind: "unusable", fault: "timeout" }));
      signal?.addEventListener("abort", onAbort, { once: true });
      waiters.add(waiter);
      return promise;
    },
    /** Serves one after the other until `next` has no lease. */
    serve(next: () => LeaseResult | undefined) {
      for (const waiter of waiters) {
        const result = next();
        if (!result) return;
        waiter.settle(result);
      }
    },
    rejectAll(result: Unleased) {
      for (const waiter of waiters) waiter.settle(result);
    },
    failAll(error: unknown) {
      for (const waiter of waiters) waiter.fail(error);
    },
  };
}
