import type { LeaseOptions, LeaseResult, Unleased } from "./lease.ts";

interface Waiter {
  readonly settle: (result: LeaseResult) => void;
  readonly fail: (error: unknown) => void;
}

/** Calls that wait for a token, first come first served, each until its own deadline. */
export class Waiters {
  readonly #after: (ms: number, run: () => void) => () => void;
  readonly #waiters = new Set<Waiter>();

  constructor(after: (ms: number, run: () => void) => () => void) {
    this.#after = after;
  }

  get size(): number {
    return this.#waiters.size;
  }

  wait({ deadlineMs, signal }: LeaseOptions): Promise<LeaseResult> {
    const { promise, resolve, reject } = Promise.withResolvers<LeaseResult>();
    const leaving =
      <Value>(settle: (value: Value) => void) =>
      (value: Value) => {
        this.#waiters.delete(waiter);
        cancelTimer();
        signal?.removeEventListener("abort", onAbort);
        settle(value);
      };
    const waiter: Waiter = { settle: leaving(resolve), fail: leaving(reject) };
    const onAbort = () => waiter.settle({ kind: "unusable", fault: "aborted" });
    const cancelTimer = this.#after(deadlineMs, () => waiter.settle({ kind: "unusable", fault: "timeout" }));
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiters.add(waiter);
    return promise;
  }

  /** Serves one after the other until `next` has no lease. */
  serve(next: () => LeaseResult | undefined): void {
    for (const waiter of this.#waiters) {
      const result = next();
      if (!result) return;
      waiter.settle(result);
    }
  }

  rejectAll(result: Unleased): void {
    for (const waiter of this.#waiters) waiter.settle(result);
  }

  failAll(error: unknown): void {
    for (const waiter of this.#waiters) waiter.fail(error);
  }
}
