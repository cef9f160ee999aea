import { createInterface } from "node:readline/promises";
import { Fault } from "./fault.ts";

/** Asks on a terminal; elsewhere an irreversible command needs `--yes`. @throws {Fault} where it is not confirmed */
export async function confirm(question: string, isSure: boolean | undefined): Promise<void> {
  if (isSure) return;
  if (!process.stdin.isTTY) throw new Fault(question, "Nothing was done. Confirm with --yes.", { exitCode: 2 });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new Fault("not confirmed", "Nothing was done.");
}
