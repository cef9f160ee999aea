import { commandLineOf } from "@svc/host/child-program";
import { runProgram } from "./program.ts";

/**
 * Runs a command of @svc/dev, with its options and help, on this terminal. Over the IPC channel it notices the end of this
 * process.
 * @returns its exit code
 */
export const runDev = (args: readonly string[]): Promise<number> =>
  runProgram([process.execPath, ...commandLineOf(import.meta.resolve("@svc/dev/main"), args)], process.env, [
    "inherit",
    "inherit",
    "inherit",
    "ipc",
  ]);
