#!/usr/bin/env node
import "./require-node.ts";
import { Command } from "commander";
import { colors } from "./colors.ts";
import { demoCommand } from "./commands/demo.ts";
import { devCommand } from "./commands/dev.ts";
import { Fault } from "./fault.ts";

const program = new Command("svc")
  .description("Authorize what software agents may do on behalf of a person, one hop at a time.")
  .showHelpAfterError("Run with --help to see what there is.")
  .addCommand(demoCommand())
  .addCommand(devCommand());

try {
  await program.parseAsync();
} catch (cause) {
  process.stderr.write(`${colors.red("error:")} ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.stderr.write(
    `${cause instanceof Fault ? cause.advice : "Run with --verbose to see what the processes log."}\n`,
  );
  process.exitCode = 1;
}
