import { spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A started program and its output. It ends at the latest with this process, also after a failed test. */
export interface Child {
  readonly pid: number;
  /** Everything written so far, standard output and error interleaved. */
  output(): string;
  /** Standard output alone. */
  stdout(): string;
  hasExited(): boolean;
  /** Exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  kill(signal?: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL after a while. Idempotent. */
  stop(): Promise<number | NodeJS.Signals>;
}

export interface ChildOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly stopTimeoutMs?: number;
}

/**
 * Kills a process when this one ends, even by SIGKILL, as test runners end a hanging worker: the pipe then closes.
 * @returns a function that cancels this
 */
function endWithThisProcess(pid: number): () => void {
  const script = 'read -r _ || kill -KILL "$1"';
  const watch = spawn("/bin/sh", ["-c", script, "sh", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: {},
  });
  watch.unref();
  watch.stdin.on("error", () => {});
  if (watch.stdin instanceof Socket) watch.stdin.unref();
  return () => watch.stdin.end("dismissed\n");
}

export function startChild(file: string, args: readonly string[], options: ChildOptions = {}): Child {
  const { env = process.env, cwd, stopTimeoutMs = 30_000 } = options;
  const child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  if (child.pid === undefined) throw new Error(`${file} could not be started`);
  const dismiss = endWithThisProcess(child.pid);
  child.once("exit", dismiss);
  let all = "";
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    all += text;
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    all += text;
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  return {
    pid: child.pid,
    output: () => all,
    stdout: () => out,
    hasExited,
    exited,
    kill: (signal = "SIGKILL") => void child.kill(signal),
    async stop() {
      if (!hasExited()) child.kill("SIGTERM");
      const timeout = new AbortController();
      const late = delay(stopTimeoutMs, "late", { signal: timeout.signal }).catch(() => "settled");
      if ((await Promise.race([exited, late])) === "late") child.kill("SIGKILL");
      timeout.abort();
      return exited;
    },
  };
}
