import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { Fault, notTried } from "./fault.ts";

/** Flags of commands that revoke. */
export interface Revocation {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** Asks on a terminal; elsewhere an irreversible command needs `--yes`. @throws {Fault} where it is not confirmed */
export async function confirm(question: string, isSure: boolean | undefined): Promise<void> {
  if (isSure) return;
  if (!process.stdin.isTTY) throw notTried(question, "Nothing was done. Confirm with --yes.");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new Fault("not confirmed", "Nothing was done.");
}

/** A command of subcommands; the help of each has the same examples. */
export function commandGroup(name: string, examples: string, subcommands: readonly Command[]): Command {
  const group = new Command(name).addHelpText("after", examples);
  for (const command of subcommands) group.addCommand(command.addHelpText("after", examples));
  return group;
}
