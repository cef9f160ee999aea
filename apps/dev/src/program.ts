import { styleText } from "node:util";
import { fitHelp } from "@svc/host/fit-help";
import { endWithItsReader } from "@svc/host/process-end";
import { Command, CommanderError } from "commander";
import { demoCommand } from "./commands/demo.ts";
import { devCommand } from "./commands/dev.ts";
import { StartError } from "./start-error.ts";

endWithItsReader(process.stdout);
const program = new Command("svc").exitOverride();
for (const command of [demoCommand(), devCommand()]) {
  command.configureOutput({ writeOut: (text) => void process.stdout.write(fitHelp(text, process.stdout.columns)) });
  program.addCommand(command.exitOverride().showHelpAfterError("Run with --help for the options."));
}
const args = process.argv.slice(2);
try {
  if (args[0] === "complete") {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    tab(program);
  }
  await program.parseAsync(args, { from: "user" });
} catch (cause) {
  if (cause instanceof CommanderError) {
    // Commander has printed the error; help is none.
    process.exitCode = cause.exitCode === 0 ? 0 : 2;
  } else {
    const message = cause instanceof Error ? cause.message : String(cause);
    process.stderr.write(`${styleText("red", "error:", { stream: process.stderr })} ${message}\n`);
    if (cause instanceof StartError) process.stderr.write(`${cause.advice}\n`);
    process.exitCode = 1;
  }
}
