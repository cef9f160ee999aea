interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock and timers that move only on command. */
export class TestTime {
  readonly #startedAt = Date.parse("2026-01-01T00:00:00Z");
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;

  readonly now = (): number => this.#startedAt + this.#elapsedMs;
  readonly monotonicMs = (): number => this.#elapsedMs;
  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { dueMs: this.#elapsedMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Runs the timers that come due, each at its own time, and their consequences. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    for (;;) {
      const [next] = [...this.#timers].filter((t) => t.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs);
      if (!next) break;
      this.#timers.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.run();
      await settled();
    }
    this.#elapsedMs = untilMs;
    await settled();
  }
}

/** Resolves when all pending promise callbacks have run. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
