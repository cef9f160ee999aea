import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { Fault } from "../fault.ts";
import { withoutBearers } from "./environment.ts";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs a command on this terminal, hands signals on to it, and answers its exit code: 128 and the signal's number, as shells do. */
export async function runProgram([file = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(file, args, { env: withoutBearers(env), stdio: "inherit" });
  // A terminal sends Ctrl-C to the whole group; a second one would reach the command twice.
  const handOn = (signal: NodeJS.Signals) => void (process.stdin.isTTY && signal === "SIGINT" ? 0 : child.kill(signal));
  for (const signal of forwarded) process.on(signal, handOn);
  try {
    const [code, signal] = await once(child, "exit").catch((cause: unknown) => {
      throw new Fault(`${file} cannot be run`, "Check the command after --.", { cause, exitCode: 2 });
    });
    return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  } finally {
    for (const name of forwarded) process.off(name, handOn);
  }
}
