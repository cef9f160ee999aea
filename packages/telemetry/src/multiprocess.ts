import { writeFileSync } from "node:fs";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AggregatorRegistry, type PrometheusContentType, type Registry } from "prom-client";
import type { EndedCounts } from "./ended-workers.ts";
import type { Rendered } from "./metrics.ts";
import { countsFile, draftOf, isEndedFile, isProcessRunning, type Writer, writerOf } from "./shared-folder.ts";
import { admitted, type FamilySnapshot, templateOf, withoutGauges } from "./snapshot.ts";

interface SharedMetricsOptions extends Writer {
  /** `PROMETHEUS_MULTIPROC_DIR`: writable, and empty when the deployment starts. */
  readonly dir: string;
  readonly registry: Registry;
  readonly publishEveryMillis?: number;
  readonly isRunning?: (pid: number) => boolean;
}

/** A file of the folder as it was last read. */
interface Loaded {
  readonly version: string;
  readonly families: readonly FamilySnapshot[];
  /** Files that it replaces. */
  readonly replaces: readonly string[];
}

/**
 * Metrics of several processes on one directory (docs/reference/telemetry.md#several-processes). Throws at once where the
 * directory cannot be written.
 */
export function shareMetrics(options: SharedMetricsOptions) {
  const { dir, registry, pid, startedAt, publishEveryMillis = 100, isRunning = isProcessRunning } = options;
  const ownFile = join(dir, countsFile({ pid, startedAt }));
  const draft = draftOf(ownFile);
  const template = templateOf(registry);
  const known = new Map<string, Loaded>();
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
  async function load(name: string): Promise<Loaded | undefined> {
    const before = known.get(name);
    try {
      const version = await versionOf(name);
      if (before?.version === version) return before;
      const loaded = read(name, JSON.parse(await readFile(join(dir, name), "utf8")), await template);
      if (loaded !== undefined) known.set(name, { version, ...loaded });
    } catch {
      // It was removed, or cut off.
    }
    return known.get(name);
  }

  async function versionOf(name: string): Promise<string> {
    const { mtimeMs, size, ino } = await stat(join(dir, name));
    return `${ino}:${mtimeMs}:${size}`;
  }

  const isLive = (writer: Writer): boolean =>
    writer.pid === pid ? writer.startedAt === startedAt : isRunning(writer.pid);

  const namesInFolder = () => readdir(dir).catch(() => [...known.keys()]);

  async function loadEnded(): Promise<readonly Loaded[]> {
    const loaded = await Promise.all((await namesInFolder()).filter(isEndedFile).map(load));
    return loaded.filter((each) => each !== undefined);
  }

  /** Between both reads of the ended workers no file was replaced, so that each is read once. */
  async function loadAll(): Promise<(readonly FamilySnapshot[])[]> {
    for (let ended = await loadEnded(); ; ) {
      const counts = await loadCounts(new Set(ended.flatMap(({ replaces }) => replaces)));
      const after = await loadEnded();
      if (versionsOf(after) === versionsOf(ended)) {
        return [await template, ...ended.map(({ families }) => families), ...counts];
      }
      ended = after;
    }
  }

  async function loadCounts(replaced: ReadonlySet<string>): Promise<(readonly FamilySnapshot[])[]> {
    const all: (readonly FamilySnapshot[])[] = [];
    for (const name of await namesInFolder()) {
      const writer = writerOf(name);
      if (writer === undefined || replaced.has(name)) continue;
      const families = (await load(name))?.families ?? [];
      all.push(isLive(writer) ? families : withoutGauges(families));
    }
    for (const name of replaced) known.delete(name);
    return all;
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

const versionsOf = (files: readonly Loaded[]): string => files.map(({ version }) => version).join();

/** Undefined for what is neither the counts of a process nor those of ended workers. */
function read(
  name: string,
  found: unknown,
  template: readonly FamilySnapshot[],
): Pick<Loaded, "families" | "replaces"> | undefined {
  const { replaces, families: given } = isEndedFile(name)
    ? (found as Partial<EndedCounts>)
    : { replaces: [], families: found };
  const families = admitted(given, isEndedFile(name) ? withoutGauges(template) : template);
  return families && Array.isArray(replaces) ? { families, replaces } : undefined;
}
