import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerAccount } from "./server-account.ts";

/** The pipe closes when our process ends, even by SIGKILL; the server is stopped only if it is still the same one. */
const script = 'read -r _ || { read -r pid < "$2" && [ "$pid" = "$1" ] && kill -INT "$1"; }';

/**
 * Stops the server soon after this process ends. A best effort: the watch can be killed too, and the next start on the
 * same folder handles that.
 * @returns dismisses the watch, before the server is stopped on purpose
 */
export function stopWithParent(pid: number, pidFile: string, account: ServerAccount): () => void {
  const watch = spawn("/bin/sh", ["-c", script, "sh", String(pid), pidFile], {
    // A process group of its own: Ctrl-C in a terminal reaches only us, and we drain first.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: {},
    ...account,
  });
  watch.on("error", () => {});
  watch.stdin.on("error", () => {});
  watch.unref();
  if (watch.stdin instanceof Socket) watch.stdin.unref();
  return () => watch.stdin.end("dismissed\n");
}

const probeEveryMs = 250;

/**
 * Restarts a server whose process has ended. A slow one is left alone; a failed restart is retried.
 * @returns ends the supervision; resolves once no restart is in progress
 */
export function supervise(isRunning: () => Promise<boolean>, restart: () => Promise<void>): () => Promise<void> {
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await delay(probeEveryMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      if (!ended.signal.aborted && !(await isRunning())) await restart().catch(() => {});
    }
  };
  const watching = watch();
  return async () => {
    ended.abort();
    await watching;
  };
}
