import { type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { commandLineOf } from "@svc/host/child-program";
import { notTried } from "../fault.ts";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** As in shells. */
export const exitCodeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Until `release` a signal that would end this process aborts `signal` instead, with its name as the reason. */
export function catchSignals(): { readonly signal: AbortSignal; release(): void } {
  const first = new AbortController();
  const abort = (name: NodeJS.Signals) => first.abort(name);
  for (const name of forwarded) process.on(name, abort);
  return {
    signal: first.signal,
    release(): void {
      for (const name of forwarded) process.off(name, abort);
    },
  };
}

/** Runs a command on this terminal. @returns its exit code; as in shells 128 + the number of a signal that ended it */
export async function runProgram(
  [file = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  stdio: StdioOptions = "inherit",
): Promise<number> {
  const child = spawn(file, args, { env, stdio });
  // A terminal sends Ctrl-C to the whole group; forwarding it would send it twice.
  const forward = (signal: NodeJS.Signals) => {
    if (!(process.stdin.isTTY && signal === "SIGINT")) child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, forward);
  try {
    const [code, signal] = await once(child, "exit").catch((cause: unknown) => {
      throw notTried(`${file} cannot be run`, "Check the command after --.", cause);
    });
    return code ?? exitCodeOf(signal);
  } finally {
    for (const name of forwarded) process.off(name, forward);
  }
}

/** Runs a command of @svc/dev on this terminal. By the IPC channel it ends with this process. @returns its exit code */
export function runDev(args: readonly string[]): Promise<number> {
  const command = [process.execPath, ...commandLineOf(import.meta.resolve("@svc/dev/main"), args)];
  return runProgram(command, process.env, ["inherit", "inherit", "inherit", "ipc"]);
}
