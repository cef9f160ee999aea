import { describe, expect, test } from "vitest";
import { supervise, type WorkerProcess } from "../src/start/workers.ts";

interface FakeWorker {
  readonly signals: string[];
  serve(url?: string): void;
  end(how?: number | string): void;
}

/** Supervision over workers and a clock that the test moves. */
function supervised(count: number) {
  const workers: FakeWorker[] = [];
  const served: string[] = [];
  const replaced: (number | string)[] = [];
  let nowMs = 0;
  let timers: { dueMs: number; run: () => void }[] = [];
  const start = (): WorkerProcess => {
    let onServing = (_url: string) => {};
    let onEnd = (_how: number | string) => {};
    const signals: string[] = [];
    workers.push({ signals, serve: (url = "http://here") => onServing(url), end: (how = 1) => onEnd(how) });
    return {
      onServing: (listener) => {
        onServing = listener;
      },
      onEnd: (listener) => {
        onEnd = listener;
      },
      kill: (signal) => signals.push(signal),
    };
  };
  const supervision = supervise({
    count,
    start,
    onServing: (url) => served.push(url),
    onReplaced: (how) => replaced.push(how),
    killAfterMs: 20_000,
    monotonicMs: () => nowMs,
    after: (delayMs, run) => {
      const timer = { dueMs: nowMs + delayMs, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  });
  const pass = (ms: number) => {
    nowMs += ms;
    const due = timers.filter(({ dueMs }) => dueMs <= nowMs);
    timers = timers.filter(({ dueMs }) => dueMs > nowMs);
    for (const { run } of due) run();
  };
  const worker = (index: number) => workers[index] ?? expect.fail(`there is no worker ${index}`);
  return { supervision, workers, worker, served, replaced, pass, waiting: () => timers.length };
}

describe("starting", () => {
  test("the first worker starts alone, and the others once it serves", () => {
    const { workers, worker, served } = supervised(3);
    expect(workers).toHaveLength(1);
    worker(0).serve("http://127.0.0.1:8080");
    expect(workers).toHaveLength(3);
    worker(1).serve();
    expect(served).toEqual(["http://127.0.0.1:8080"]);
  });

  test("a fault of the first worker at its start ends all", async () => {
    const { supervision, workers, worker, replaced } = supervised(3);
    worker(0).end(1);
    expect(await supervision.ended).toBe(1);
    expect([workers.length, replaced.length]).toEqual([1, 0]);
  });
});

describe("a worker that ends by itself", () => {
  test("is replaced at once when it served for a while, however it ended", () => {
    const { workers, worker, replaced, pass } = supervised(2);
    worker(0).serve();
    worker(1).serve();
    pass(10_000);
    worker(0).end("SIGKILL");
    worker(1).end(0);
    pass(0);
    expect(replaced).toEqual(["SIGKILL", 0]);
    expect(workers).toHaveLength(4);
  });

  test("soon after its start is replaced after pauses that double up to half a minute", () => {
    const { workers, worker, pass } = supervised(1);
    worker(0).serve();
    const pauses = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
    for (const [index, pauseMs] of pauses.entries()) {
      worker(index).end(1);
      pass(pauseMs - 1);
      expect(workers).toHaveLength(index + 1);
      pass(1);
      expect(workers).toHaveLength(index + 2);
    }
  });

  test("after it served for a while makes the next pause short again", () => {
    const { workers, worker, pass } = supervised(1);
    worker(0).serve();
    worker(0).end();
    pass(500);
    worker(1).serve();
    pass(10_000);
    worker(1).end();
    pass(0);
    worker(2).end();
    pass(500);
    expect(workers).toHaveLength(4);
  });
});

describe("stopping", () => {
  test("drains every worker, and ends after the last one", async () => {
    const { supervision, worker, replaced } = supervised(2);
    worker(0).serve();
    supervision.stop();
    supervision.stop();
    expect([worker(0).signals, worker(1).signals]).toEqual([["SIGTERM"], ["SIGTERM"]]);
    worker(0).end(0);
    // It was still starting.
    worker(1).end("SIGTERM");
    expect(await supervision.ended).toBe(0);
    expect(replaced).toEqual([]);
  });

  test("kills workers that have not ended in time, and returns 1", async () => {
    const { supervision, worker, pass } = supervised(2);
    worker(0).serve();
    supervision.stop();
    worker(0).end(0);
    pass(20_000);
    expect(worker(1).signals).toEqual(["SIGTERM", "SIGKILL"]);
    worker(1).end("SIGKILL");
    expect(await supervision.ended).toBe(1);
  });

  test("while all wait to be replaced starts no worker, and leaves no timer", async () => {
    const { supervision, workers, worker, pass, waiting } = supervised(1);
    worker(0).serve();
    worker(0).end();
    supervision.stop();
    expect(await supervision.ended).toBe(0);
    pass(60_000);
    expect([workers.length, waiting()]).toEqual([1, 0]);
  });

  test("before the first worker serves starts no others", async () => {
    const { supervision, workers, worker, waiting } = supervised(3);
    supervision.stop();
    worker(0).serve();
    worker(0).end(0);
    expect(await supervision.ended).toBe(0);
    expect([workers.length, waiting()]).toEqual([1, 0]);
  });
});
