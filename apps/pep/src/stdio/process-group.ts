import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { bareEnvironment } from "@svc/host";
import type { StdioServer } from "./settings.ts";

export interface ProcessEvents {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** Called once, when nothing more is written. */
  ended(how: string): void;
}

/** From SIGTERM to SIGKILL. */
const graceMs = 2_000;
const pollMs = 25;

/** Every group under way, by the process that leads it: they end with this process, whatever ends it but SIGKILL. */
const running = new Set<number>();
let endsWithThisProcess = false;

function endWithThisProcess(): void {
  if (endsWithThisProcess) return;
  endsWithThisProcess = true;
  process.on("exit", () => {
    for (const pid of running) signal(pid, "SIGKILL");
  });
}

/**
 * Ends a group when this process is gone, also by SIGKILL: the pipe then closes. Without a shell only servers that end
 * with their input do.
 * @returns how to cancel it
 */
function endAfterThisProcess(pid: number): () => void {
  const script = 'read -r _ || kill -KILL "-$1"';
  const watcher = spawn("/bin/sh", ["-c", script, "sh", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: {},
  });
  watcher.on("error", () => {}).stdin.on("error", () => {});
  watcher.unref();
  return () => watcher.stdin.end("ended\n");
}

/** A server as a process group of its own: `npx -y` alone makes a tree of three processes. */
export function startProcessGroup({ command, env, cwd }: StdioServer, events: ProcessEvents) {
  endWithThisProcess();
  const [file, ...args] = command;
  const child = spawn(file, args, {
    env: bareEnvironment(process.env, env),
    stdio: "pipe",
    detached: true,
    ...(cwd !== undefined && { cwd }),
  });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  const dismiss = pid === undefined ? () => {} : endAfterThisProcess(pid);
  let how = "";
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ending ??= endGroup(pid, child.stdin, closed).then(close).then(dismiss);
    return ending;
  };
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {}).on("data", events.stdout);
  child.stderr.on("error", () => {}).on("data", events.stderr);
  child.once("error", (error: NodeJS.ErrnoException) => {
    how ||= `cannot be started (${error.code ?? "unknown cause"})`;
    if (pid === undefined) close();
  });
  child.once("exit", (code, by) => {
    how ||= `ended (${by ?? `exit code ${code}`})`;
    // What it started does not outlive it, and may hold its output open.
    void end();
  });
  child.once("close", () => close());
  void closed.then(() => {
    child.stdout.destroy();
    child.stderr.destroy();
    events.ended(how);
  });
  return {
    pid,
    write: (line: Buffer): void => void child.stdin.write(line),
    /** Closes its input and ends all of the group: SIGTERM, then SIGKILL. Idempotent. */
    end,
  };
}

async function endGroup(pid: number | undefined, stdin: { end(): unknown }, closed: Promise<void>): Promise<void> {
  stdin.end();
  if (pid === undefined) return closed;
  signal(pid, "SIGTERM");
  for (let waitedMs = 0; waitedMs < graceMs && signal(pid, 0); waitedMs += pollMs) await delay(pollMs);
  signal(pid, "SIGKILL");
  running.delete(pid);
  // A process that left the group may hold the output open for ever.
  await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
}

/** @returns whether the group has a process left */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, name);
  } catch {
    return false;
  }
}
