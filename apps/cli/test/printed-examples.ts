import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { commands } from "../src/commands.ts";

export interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

/** Every command that does something, as one types it. */
export async function leaves(): Promise<readonly Leaf[]> {
  const loaded = await Promise.all(
    commands.map(async ({ name, load }) => (load === undefined ? [] : [{ name, command: (await load()).command() }])),
  );
  return loaded
    .flat()
    .flatMap(({ name, command }) =>
      command.commands.length === 0
        ? [{ words: [name], command }]
        : command.commands.map((child) => ({ words: [name, child.name()], command: child as Command })),
    );
}

export function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  command.outputHelp();
  return help;
}

/**
 * The command lines under `Examples:`, each once. What follows three blanks is said about them, and so is a line that is
 * indented further.
 */
export function examplesOf(help: string): readonly string[] {
  const section = help.split("Examples:\n")[1]?.split("\n\n")[0] ?? "";
  return section
    .split("\n")
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => line.trim().split(/ {3,}/)[0] ?? "");
}

/** The shell blocks of the README. */
export function readmeExamples(): readonly string[] {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  return [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code = ""]) => code.trim());
}
