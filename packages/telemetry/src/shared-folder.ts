import { accessSync, constants, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** A process that writes into `PROMETHEUS_MULTIPROC_DIR`. */
export interface Writer {
  readonly pid: number;
  /** Distinguishes it from an earlier process of the same pid. Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** What a running process counted. */
export const countsFile = ({ pid, startedAt }: Writer): string => `${pid}-${startedAt}.json`;
/** What the workers of a supervisor counted that ended. */
export const endedFile = ({ pid, startedAt }: Writer): string => `${pid}-${startedAt}.ended.json`;
/** It is written there first, and then renamed. */
export const draftOf = (name: string): string => `${name}.draft`;

const countsPattern = /^(\d+)-(\d+)\.json$/;
const ownedPattern = /^\d+-\d+(?:\.ended)?\.json(?:\.draft)?$/;

export const isEndedFile = (name: string): boolean => /^\d+-\d+\.ended\.json$/.test(name);

/** Undefined for the name of another file. */
export function writerOf(name: string): Writer | undefined {
  const found = countsPattern.exec(name);
  return found === null ? undefined : { pid: Number(found[1]), startedAt: Number(found[2]) };
}

/** Whether the file, or its draft, is one of that process's counts. */
export const isOfProcess = (name: string, pid: number): boolean => writerOf(name.replace(/\.draft$/, ""))?.pid === pid;

export function isProcessRunning(pid: number): boolean {
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
