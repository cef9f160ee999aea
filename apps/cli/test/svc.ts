import { spawn } from "node:child_process";
import { once } from "node:events";
import { programOf } from "@svc/test-support";

export const main = programOf("@svc/cli/main");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Its output so far. */
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
}

/** The command as a person starts it, and nothing in its environment but `env`. @param flags of Node */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Started {
  const child = spawn(process.execPath, [...flags, main, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  return {
    pid: child.pid ?? 0,
    ended: once(child, "close").then(([code]) => ({ code, stdout, stderr })),
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
  };
}

export const svc = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  start(args, env).ended;
