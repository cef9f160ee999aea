import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { createMetrics } from "../../src/index.ts";
import { shareMetrics } from "../../src/multiprocess.ts";
import { samplesOf } from "./exposition.ts";

interface Process {
  readonly pid: number;
  readonly startedAt: number;
  readonly isRunning: (pid: number) => boolean;
}

/** A new folder for each test of a file, and workers that share their metrics in it. All end with their test. */
export function metricsFolder() {
  let dir = "";
  const ends: (() => unknown)[] = [];
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "svc-metrics-"));
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get dir() {
      return dir;
    },
    alsoEnd: (end: () => unknown) => void ends.push(end),
    worker(process: Process) {
      const metrics = createMetrics("control_plane", "1.2.3");
      const shared = shareMetrics({ dir, registry: metrics.registry, publishEveryMillis: 1e9, ...process });
      ends.push(() => shared.close());
      return { metrics, shared, scrape: async () => samplesOf((await shared.render()).body) };
    },
  };
}
