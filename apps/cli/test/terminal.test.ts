import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, helpOf, leaves } from "./printed-examples.ts";
import { type CliStack, startClerkStack } from "./stack.ts";
import { main } from "./svc.ts";

let stack: CliStack;

beforeAll(async () => {
  stack = await startClerkStack();
  for (const user of ["ada", `日本語の${"長".repeat(60)}`]) {
    await stack.svc("consent", "--scope", "books", "--user", user, "--agent", "clerk");
  }
  await stack.svc("block", "set", "tool", `http:${"x".repeat(200)}`, "--reason", "an incident ".repeat(12));
});
afterAll(() => stack.stop());

/** What a command prints on a terminal of so many columns. */
async function onTerminal(columns: number, words: readonly string[]): Promise<readonly string[]> {
  const command = `stty cols ${columns} rows 50; '${process.execPath}' '${main}' ${words.join(" ")}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", ...stack.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return stripVTControlCharacters(output).split(/\r?\n/);
}

const commands = (await leaves()).map(({ words, command }) => ({ words, command }));
/** Those that print what the stack holds. */
const lists = [
  ["agents", "list"],
  ["agents", "show", "clerk"],
  ["sessions", "list"],
  ["sign-ins", "list"],
  ["decisions"],
  ["events"],
  ["scopes", "list"],
  ["scopes", "show", "books"],
  ["block", "list"],
  ["keys", "list"],
  ["sink", "status"],
  ["would-block"],
  ["replay", "--manifest", fileURLToPath(new URL("../../../deploy/examples/assistant.yaml", import.meta.url))],
  ["top", "--once"],
  ["can-i", "clerk", "http:ledger/read"],
];

describe.each([80, 160])("on a terminal of %d columns", (columns) => {
  const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => stringWidth(line)));

  test.each(commands)(
    "the help of svc $words fits, and its examples are those of any width",
    async ({ words, command }) => {
      const lines = await onTerminal(columns, [...words, "--help"]);
      expect(widest(lines), lines.join("\n")).toBeLessThanOrEqual(columns);
      const joined = lines.join("\n").replace(/ \\\n {6}/g, " ");
      for (const example of examplesOf(helpOf(command))) expect(joined).toContain(example);
    },
  );

  test.each([[[]], [["help"]], [["dev", "--help"]]])("svc %j fits", async (words) => {
    const lines = await onTerminal(columns, words);
    expect(widest(lines), lines.join("\n")).toBeLessThanOrEqual(columns);
  });

  test.each(lists.map((words) => [words]))("svc %j fits, whatever the names", async (words) => {
    const lines = await onTerminal(columns, words);
    expect(widest(lines), lines.join("\n")).toBeLessThanOrEqual(columns);
    expect(lines.join("\n")).not.toMatch(/error:|\n\s+at /);
  });
});
