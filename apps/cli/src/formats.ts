import { type Command, InvalidArgumentError, Option } from "commander";
import type { DataFormat } from "./output.ts";

/** As in `kubectl`: `wide` has more columns, whole ids and times; `name` is what other commands take as an argument. */
const listFormats = ["table", "wide", "json", "yaml", "name"] as const;
const oneFormats = ["text", "json", "yaml"] as const;
export type Format = (typeof listFormats | typeof oneFormats)[number];

export interface FormatFlags {
  readonly output: Format;
  readonly json?: boolean;
}

export interface ListFlags extends FormatFlags {
  /** Infinity: all. */
  readonly limit: number;
  readonly watch?: boolean;
}

const withFormats = (command: Command, formats: readonly Format[], shape: string): Command =>
  command
    .addOption(new Option("-o, --output <format>", "how to print").choices(formats).default(formats[0]))
    .option("--json", `the same as -o json: ${shape}`);

/** Adds the formats of a command that prints one result. @param shape of its JSON */
export const withFormat = (command: Command, shape: string): Command => withFormats(command, oneFormats, shape);

/** Adds the options of a command that prints a list. @param shape of a line of JSON @param limit by default */
export const withList = (command: Command, shape: string, limit: number | "all" = "all"): Command =>
  withFormats(command, listFormats, shape)
    .option("--limit <n>", "maximum number, or all", rowCount, rowCount(String(limit)))
    .option("-w, --watch", "print new and changed ones until Ctrl-C");

function rowCount(text: string): number {
  if (text === "all") return Number.POSITIVE_INFINITY;
  const count = Number(text);
  if (!/^\d{1,9}$/.test(text) || count < 1) throw new InvalidArgumentError("It must be a whole number from 1, or all.");
  return count;
}

export const formatOf = ({ output, json }: FormatFlags): Format => (json ? "json" : output);

/** Whether programs read it; else people do. */
export const isData = (format: Format): format is DataFormat => format === "json" || format === "yaml";
