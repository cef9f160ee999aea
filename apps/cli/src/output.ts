import type { ChainHop } from "@svc/client";
import type { CamelCased } from "@svc/core";
import pc from "picocolors";
import type { z } from "zod";
import { fitText } from "./fit-text.ts";
import type { Cell } from "./table.ts";

/** Colors on a terminal only. */
export const colors = pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR);

/** Results go to standard output, progress to standard error. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Prose, which a terminal gets in lines of its own width. */
export const printText = (text: string): void => print(fitText(text, process.stdout.columns));
export const printJson = (value: unknown): void => print(JSON.stringify(value));

type Core = typeof import("@svc/core");
export type BodyName = { [Name in keyof Core]: Core[Name] extends z.ZodType ? Name : never }[keyof Core];
/** A body of the API as the client returns it. */
export type Body<Name extends BodyName> = CamelCased<z.input<Core[Name]>>;
/** What programs read. */
export type DataFormat = "json" | "yaml";

async function printerOf(format: DataFormat) {
  if (format === "json") return { one: printJson, item: printJson };
  const { stringify } = await import("yaml");
  const one = (value: unknown): void => void process.stdout.write(stringify(value));
  return { one, item: (value: unknown) => one([value]) };
}

/** Each in wire spelling: a line of JSON, or an item of one YAML sequence. */
export async function printBodies<Name extends BodyName>(
  name: Name,
  bodies: AsyncIterable<Body<Name>> | Iterable<Body<Name>>,
  format: DataFormat = "json",
): Promise<void> {
  const core = await import("@svc/core");
  const { item } = await printerOf(format);
  for await (const body of bodies) item(core.toWire(core[name], body));
}

/** One body that is no list's, in wire spelling. */
export async function printBody<Name extends BodyName>(
  name: Name,
  body: Body<Name>,
  format: DataFormat = "json",
): Promise<void> {
  const core = await import("@svc/core");
  await printData(core.toWire(core[name], body), format);
}

/** One value as it is spelled. */
export const printData = async (value: unknown, format: DataFormat): Promise<void> =>
  (await printerOf(format)).one(value);

/** Foreign text for a terminal: control and format characters could move the cursor, hide text or turn it round. */
export const shown = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");

/** Cells in columns under a head, no wider than the terminal. */
export async function printTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { hasHead = true, maxWidth = process.stdout.columns }: { hasHead?: boolean; maxWidth?: number | undefined } = {},
): Promise<void> {
  const { table } = await import("./table.ts");
  const lines = table([head.map((text) => ({ text, paint: colors.bold })), ...rows], maxWidth);
  for (const line of hasHead ? lines : lines.slice(1)) print(line);
}

type Verdict = Pick<ChainHop, "decision" | "denyReason" | "enforced">;

/** `allow`, `deny TARGET_BLOCKED` or `would deny TARGET_BLOCKED`. */
export const verdictText = ({ decision, denyReason, enforced }: Verdict): string =>
  decision === "allow" ? "allow" : `${enforced ? "deny" : "would deny"} ${denyReason}`;

export const verdictColor = ({ decision, enforced }: Verdict) =>
  decision === "allow" ? colors.green : enforced ? colors.red : colors.yellow;

export const verdict = (row: Verdict): string => verdictColor(row)(verdictText(row));

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
