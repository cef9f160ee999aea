import { Command } from "commander";

/** A command of subcommands; the help of each has the same examples. */
export function commandGroup(name: string, examples: string, subcommands: readonly Command[]): Command {
  const group = new Command(name).addHelpText("after", examples);
  for (const command of subcommands) group.addCommand(command.addHelpText("after", examples));
  return group;
}
