interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock that moves only when told to, and its timers. */
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

  /** Runs what falls due on the way, each at its own time, and what it set in motion. */
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

/** Everything that waits for nothing outside has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
