import { type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { Fault } from "../fault.ts";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs a command on this terminal and forwards signals to it.
 * @returns its exit code: 128 and the signal's number where a signal ended it, as shells do
 */
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
      throw new Fault(`${file} cannot be run`, "Check the command after --.", { cause, exitCode: 2 });
    });
    return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  } finally {
    for (const name of forwarded) process.off(name, forward);
  }
}
