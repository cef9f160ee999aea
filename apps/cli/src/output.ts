import type { ChainHop } from "@svc/client";
import type { CamelCased } from "@svc/core";
import pc from "picocolors";
import type { z } from "zod";

/** Colors on a terminal only. */
export const colors = pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR);

/** Results go to standard output, progress to standard error. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);
export const printJson = (value: unknown): void => print(JSON.stringify(value));

type Core = typeof import("@svc/core");
type BodyName = { [Name in keyof Core]: Core[Name] extends z.ZodType ? Name : never }[keyof Core];

/** One line of JSON for each, in wire spelling. */
export async function printBodies<Name extends BodyName>(
  name: Name,
  bodies: AsyncIterable<CamelCased<z.input<Core[Name]>>> | Iterable<CamelCased<z.input<Core[Name]>>>,
): Promise<void> {
  const core = await import("@svc/core");
  for await (const body of bodies) printJson(core.toWire(core[name], body));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colors.
const escapes = /\u001b\[[0-9;]*m/g;
const widthOf = (text: string): number => [...text.replace(escapes, "")].length;

/** Foreign text for a terminal: control and format characters could move the cursor, hide text or turn it round. */
export const shown = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");

/** Rows in columns as wide as their widest cell, under a head. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join("  ")
      .trimEnd();
  return [colors.bold(line(head)), ...rows.map(line)].join("\n");
}

/** `allow`, `deny TARGET_BLOCKED` or `would deny TARGET_BLOCKED`, in color. */
export function verdict({ decision, denyReason, enforced }: Pick<ChainHop, "decision" | "denyReason" | "enforced">) {
  if (decision === "allow") return colors.green("allow");
  return enforced ? colors.red(`deny ${denyReason}`) : colors.yellow(`would deny ${denyReason}`);
}

/** Progress on standard error: one line that each step replaces on a terminal; else a line a step, `everyMs` apart. */
export function progress({ isShown = true, everyMs = 0 } = {}) {
  const { isTTY } = process.stderr;
  let printedMs = everyMs === 0 ? Number.NEGATIVE_INFINITY : performance.now();
  const write = (text: string): void => void (isShown && process.stderr.write(text));
  return {
    show(step: string): void {
      if (!isTTY && performance.now() - printedMs < everyMs) return;
      printedMs = performance.now();
      write(isTTY ? `\r\x1b[K${step} ...` : `${step}\n`);
    },
    /** Clears the line. */
    done(): void {
      if (isTTY) write("\r\x1b[K");
    },
  };
}
