import { accessSync, constants, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AggregatorRegistry, type PrometheusContentType, type Registry } from "prom-client";
import type { Rendered } from "./metrics.ts";

/** Metrics of several processes on one directory (docs/reference/telemetry.md#several-processes). */
export type SharedMetrics = ReturnType<typeof shareMetrics>;

export interface SharedMetricsOptions {
  /** `PROMETHEUS_MULTIPROC_DIR`: writable, and empty when the deployment starts. */
  readonly dir: string;
  readonly registry: Registry;
  readonly pid: number;
  /** Distinguishes this process from an earlier one of the same pid. Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly publishEveryMillis?: number;
  readonly isRunning?: (pid: number) => boolean;
}

const ownedPattern = /^\d+-\d+\.json(?:\.draft)?$/;
const filePattern = /^(\d+)-(\d+)\.json$/;

function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Makes the folder of a deployment that starts an empty one: files of an earlier deployment are removed, unless a process
 * that wrote one still runs. Called once, before any process shares its metrics.
 * @throws an error that names `PROMETHEUS_MULTIPROC_DIR` where the folder cannot be used
 */
export function claimMetricsFolder(dir: string, isRunning = isProcessRunning): void {
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    const files = readdirSync(dir).filter((name) => ownedPattern.test(name));
    const isShared = files.some((name) => {
      const pid = Number.parseInt(name, 10);
      return pid !== process.pid && isRunning(pid);
    });
    if (!isShared) for (const name of files) rmSync(join(dir, name), { force: true });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "error";
    throw new Error(
      `PROMETHEUS_MULTIPROC_DIR: the folder cannot be used (${code}): name an empty folder that this process may write`,
      { cause },
    );
  }
}

const withoutGauges = (families: readonly FamilySnapshot[]) => families.filter(({ type }) => type !== "gauge");

/** Throws at once where the directory cannot be written. */
export function shareMetrics(options: SharedMetricsOptions) {
  const { dir, registry, pid, startedAt, publishEveryMillis = 100, isRunning = isProcessRunning } = options;
  const ownFile = join(dir, `${pid}-${startedAt}.json`);
  const draft = `${ownFile}.draft`;
  const template = templateOf(registry);
  const known = new Map<string, { readonly version: string; readonly families: readonly FamilySnapshot[] }>();
  let written = "";
  writeFileSync(draft, "");

  // A failed write leaves the state written before in place; the next one replaces it.
  const writeOwn = async () => {
    const snapshot = JSON.stringify(await registry.getMetricsAsJSON());
    if (snapshot === written) return;
    await writeFile(draft, snapshot)
      .then(() => rename(draft, ownFile))
      .then(() => {
        written = snapshot;
      })
      .catch(() => {});
  };

  // One write at a time, or an older state could land on a newer one; a waiting write serves every caller meanwhile.
  let running = Promise.resolve();
  let waiting: Promise<void> | undefined;
  const publish = (): Promise<void> => {
    waiting ??= running.then(() => {
      waiting = undefined;
      running = writeOwn();
      return running;
    });
    return waiting;
  };

  /** A file that cannot be read keeps its last state, so that no counter falls. */
  async function load(name: string): Promise<readonly FamilySnapshot[]> {
    const before = known.get(name);
    try {
      const { mtimeMs, size, ino } = await stat(join(dir, name));
      const version = `${ino}:${mtimeMs}:${size}`;
      if (before?.version === version) return before.families;
      const families = parseSnapshot(await readFile(join(dir, name), "utf8"), await template);
      if (families !== undefined) known.set(name, { version, families });
      return families ?? before?.families ?? [];
    } catch {
      return before?.families ?? [];
    }
  }

  const isLive = (file: RegExpExecArray): boolean =>
    Number(file[1]) === pid ? Number(file[2]) === startedAt : isRunning(Number(file[1]));

  async function loadAll(): Promise<(readonly FamilySnapshot[])[]> {
    const names = await readdir(dir).catch(() => [...known.keys()]);
    const loaded: (readonly FamilySnapshot[])[] = [await template];
    for (const name of names) {
      const file = filePattern.exec(name);
      if (file === null) continue;
      const families = await load(name);
      loaded.push(isLive(file) ? families : withoutGauges(families));
    }
    return loaded;
  }

  const timer = setInterval(publish, publishEveryMillis);
  timer.unref();

  return {
    /**
     * The sum over every process that ever wrote here, exited ones included. Read from the directory alone, so that no
     * counter falls between two scrapes, whichever process serves them and whichever exited.
     */
    async render(): Promise<Rendered> {
      await publish();
      const merged = AggregatorRegistry.aggregate<PrometheusContentType>(await loadAll());
      return { contentType: merged.contentType, body: await merged.metrics() };
    },
    /** Writes the last state and stops writing. */
    async close() {
      clearInterval(timer);
      await publish();
    },
  };
}

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

interface FamilySnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

const seriesKey = ({ metricName = "", labels }: Sample): string =>
  JSON.stringify([metricName, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const isSample = (value: unknown): value is Sample =>
  isRecord(value) && isRecord(value.labels) && typeof value.value === "number" && value.value >= 0;

/** Every family of the registry with its series at 0. */
async function templateOf(registry: Registry): Promise<FamilySnapshot[]> {
  const families = (await registry.getMetricsAsJSON()) as unknown as FamilySnapshot[];
  return families.map((family) => ({ ...family, values: family.values.map((sample) => ({ ...sample, value: 0 })) }));
}

/** The samples of families and series of this build, so that foreign files add nothing; undefined for no snapshot. */
function parseSnapshot(text: string, template: readonly FamilySnapshot[]): FamilySnapshot[] | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(found)) return undefined;
  const valuesByName = new Map(found.filter(isRecord).map(({ name, values }) => [name, values]));
  return template.map((family) => {
    const series = new Set(family.values.map(seriesKey));
    const values = valuesByName.get(family.name);
    const samples = Array.isArray(values) ? values.filter(isSample) : [];
    return { ...family, values: samples.filter((sample) => series.has(seriesKey(sample))) };
  });
}
