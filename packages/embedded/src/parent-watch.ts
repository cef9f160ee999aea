import { spawn } from "node:child_process";
import { Socket } from "node:net";
import type { ServerAccount } from "./server-account.ts";

/** The pipe closes when our process ends, even by SIGKILL; only then, and only if the server is still the same. */
const script = 'read -r _ || { read -r pid < "$2" && [ "$pid" = "$1" ] && kill -INT "$1"; }';

/**
 * Lets the server end soon after this process does. A best effort: it can be killed as well, and the next start
 * on the same folder copes with that.
 * @returns dismisses the watch, before the server is stopped on purpose
 */
export function stopWithParent(pid: number, pidFile: string, account: ServerAccount): () => void {
  const watch = spawn("/bin/sh", ["-c", script, "sh", String(pid), pidFile], {
    // Of its own process group, so that Ctrl-C in a terminal reaches us alone and we can drain first.
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
