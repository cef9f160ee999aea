import { createHash } from "node:crypto";
import { type FSWatcher, readFileSync, watch } from "node:fs";
import { dirname } from "node:path";

const pollMs = 1_000;

export interface Watching {
  stop(): void;
}

/**
 * Calls `onChange` when the content of a file has changed: at once where the system notifies, else within a second (a
 * ConfigMap is replaced by a link farther up its path). @param files called each time: a configuration names others
 */
export function watchFiles(files: () => readonly string[], onChange: () => void): Watching {
  let seen = digestsOf(files());
  const look = () => {
    const now = digestsOf(files());
    const isChanged = [...now].some(([file, digest]) => seen.has(file) && seen.get(file) !== digest);
    // Before they are read again: a change made meanwhile is seen next time.
    seen = now;
    if (isChanged) onChange();
  };
  const watchers = [...new Set(files().map((file) => dirname(file)))].flatMap((folder) => watcherOf(folder, look));
  const timer = setInterval(look, pollMs).unref();
  return {
    stop() {
      clearInterval(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

function watcherOf(folder: string, look: () => void): FSWatcher[] {
  try {
    return [watch(folder, { persistent: false }, look).on("error", () => {})];
  } catch {
    return [];
  }
}

const digestsOf = (files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file, digestOf(file)]));

function digestOf(file: string): string {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("base64");
  } catch {
    return "absent";
  }
}
