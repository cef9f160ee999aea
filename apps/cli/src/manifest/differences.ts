import type { DiffEntry } from "@svc/core";
import { colors, shown } from "../output.ts";
import { table } from "../table.ts";

/** Nearest by edit distance, if it is near enough to be meant. */
export type Nearest = (ref: string) => string | undefined;

const head = ["ref", "difference", "declared", "found"].map((text) => ({ text, paint: colors.bold }));

/** A row for each difference, under it the remedy, and the ref that was probably meant. */
export function differencesText(diff: readonly DiffEntry[], nearest: Nearest): string {
  const rows = diff.map(({ ref, kind, declared, discovered }) => [
    shown(ref),
    kind,
    cell(declared),
    kind === "exceeds" ? "not advertised" : kind === "undiscovered" ? unknown(discovered) : cell(discovered),
  ]);
  const [titles = "", ...lines] = table([head, ...rows.map((cells) => cells.map((text) => ({ text })))]);
  const under = ({ ref, kind, remedy }: DiffEntry): readonly string[] => {
    const meant = kind === "exceeds" ? nearest(ref) : undefined;
    return [remedy, ...(meant === undefined ? [] : [`Did you mean ${meant}?`])].map((line) => `    ${shown(line)}`);
  };
  return [
    titles,
    ...diff.flatMap((entry, at) => [lines[at] ?? "", ...under(entry).map((line) => colors.dim(line))]),
  ].join("\n");
}

const cell = (value: unknown): string =>
  shown(typeof value === "string" ? value : value === null ? "-" : JSON.stringify(value));

const unknown = (discovered: unknown): string => (discovered === null ? "not known" : cell(discovered));

/** @param candidates refs that are advertised, or declared in the version in force */
export async function nearestOf(candidates: Iterable<string>): Promise<Nearest> {
  const { closest, distance } = await import("fastest-levenshtein");
  const refs = [...new Set(candidates)];
  return (ref) => {
    const others = refs.filter((candidate) => candidate !== ref);
    if (others.length === 0) return undefined;
    const found = closest(ref, others);
    return distance(ref, found) <= Math.max(2, Math.floor(nameOf(ref).length / 3)) ? found : undefined;
  };
}

/** Without the server, which refs of one server have in common. */
const nameOf = (ref: string): string => /[/#](.+)$/.exec(ref)?.[1] ?? ref;
