import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { waitUntil } from "@svc/test-support";
import { main } from "./svc.ts";

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export const keys = { enter: "\r", down: "\u001b[B", left: "\u001b[D", interrupt: "\u0003" };

/** The command on a pseudo-terminal, by util-linux's script. */
export function openTerminal(args: readonly string[], { cwd = process.cwd(), columns = 100, env = {} } = {}) {
  const command = [process.execPath, main, ...args].map(quoted).join(" ");
  const line = `stty cols ${columns} rows 40; exec ${command}`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: "xterm", SHELL: "/bin/sh", ...env },
  });
  let screen = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += stripVTControlCharacters(text);
  });
  child.stdin.on("error", () => {});
  return {
    /** Everything that was written so far, without colors and movements. */
    screen: () => screen,
    /** Types when the terminal shows a text, after the one before. */
    async answer(question: string, typed: string): Promise<void> {
      await waitUntil(`"${question}" on the terminal`, () => screen.indexOf(question, seen) >= 0);
      seen = screen.indexOf(question, seen) + question.length;
      child.stdin.write(typed);
    },
    ended: once(child, "close").then(([code]) => code as number),
  };
}
