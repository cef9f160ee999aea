import { spawn } from "node:child_process";
import { once } from "node:events";

/** A program that goes on beside the walk. */
export interface Started {
  output(): string;
  hasEnded(): boolean;
  stop(): Promise<void>;
  /** Resolves at the next piece of output, or at its end. */
  more(): Promise<unknown>;
}

export function startProgram(command: readonly string[], env: NodeJS.ProcessEnv): Started {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    output: () => output,
    hasEnded,
    more: () => Promise.race([once(child.stdout, "data"), ended]),
    async stop() {
      if (!hasEnded()) child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What a line of its output captures. */
export async function untilLine(program: Started, line: RegExp): Promise<string> {
  for (;;) {
    const found = new RegExp(line, "m").exec(program.output())?.[1];
    if (found !== undefined) return found;
    if (program.hasEnded()) throw new Error(`a program ended at its start; it told:\n${program.output()}`);
    await program.more();
  }
}
