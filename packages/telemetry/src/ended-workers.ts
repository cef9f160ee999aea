import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draftOf, endedFile, isOfProcess, isProcessRunning, type Writer, writerOf } from "./shared-folder.ts";
import { addedTo, familiesOf, type Totals } from "./snapshot.ts";

interface EndedWorkersOptions extends Writer {
  /** `PROMETHEUS_MULTIPROC_DIR`. */
  readonly dir: string;
  readonly isRunning?: (pid: number) => boolean;
}

/** The counts of ended workers, in a file that names the files which it replaces: until they are removed, they count there. */
export interface EndedCounts {
  readonly replaces: readonly string[];
  readonly families: ReturnType<typeof familiesOf>;
}

/**
 * For the supervisor of workers: returns what to call when one has ended. Its file is added to one for all that ended, so
 * that the folder does not grow with each replacement. Where that fails the file stays, and the next call tries again.
 */
export function endedWorkers({ dir, isRunning = isProcessRunning, ...supervisor }: EndedWorkersOptions) {
  const ended = new Set<number>();
  let totals: Totals = new Map();
  let replaced: readonly string[] = [];

  function replace(): void {
    // A worker's number may be another process's by now.
    const isEnded = (name: string) => [...ended].some((pid) => isOfProcess(name, pid) && !isRunning(pid));
    const present = readdirSync(dir);
    const drafts = present.filter((name) => isEnded(name) && writerOf(name) === undefined);
    const left = replaced.filter((name) => present.includes(name));
    let sums = totals;
    const added: string[] = [];
    for (const name of present.filter(
      (each) => isEnded(each) && writerOf(each) !== undefined && !left.includes(each),
    )) {
      const more = addedTo(sums, parsed(join(dir, name)));
      if (more === undefined) continue;
      sums = more;
      added.push(name);
    }
    const replaces = [...left, ...added];
    write({ replaces, families: familiesOf(sums) });
    totals = sums;
    replaced = replaces;
    for (const name of [...replaces, ...drafts]) rmSync(join(dir, name), { force: true });
    for (const pid of ended) if (!isRunning(pid)) ended.delete(pid);
  }

  function write(counts: EndedCounts): void {
    const file = join(dir, endedFile(supervisor));
    writeFileSync(draftOf(file), JSON.stringify(counts));
    renameSync(draftOf(file), file);
  }

  return (pid: number): void => {
    ended.add(pid);
    try {
      replace();
    } catch {
      // Nothing is lost: the files are still there.
    }
  };
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
