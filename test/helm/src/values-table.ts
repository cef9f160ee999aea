import { parse } from "yaml";

/** A documented value: its path, its default in YAML, and the comment above it. */
export interface DocumentedValue {
  readonly path: string;
  /** Absent where the values below it have their own comments. */
  readonly default: string | undefined;
  readonly meaning: string;
}

interface Key {
  readonly path: readonly string[];
  readonly comment: string;
}

/** Every value of a commented values file, in order. @throws where a key has no comment above, beside or below it */
export function documentedValues(text: string): readonly DocumentedValue[] {
  const values = parse(text);
  const keys = keysOf(text);
  const commented = keys.filter(({ comment }) => comment !== "");
  for (const { path } of keys) {
    const isCovered = commented.some((key) => isWithin(path, key.path) || isWithin(key.path, path));
    if (!isCovered) throw new Error(`${path.join(".")} has no comment in values.yaml`);
  }
  return commented.map(({ path, comment }) => {
    const isParent = commented.some((key) => key.path.length > path.length && isWithin(key.path, path));
    const value = path.reduce((parent, name) => parent?.[name], values);
    return { path: path.join("."), meaning: comment, default: isParent ? undefined : JSON.stringify(value) };
  });
}

const isWithin = (path: readonly string[], ancestor: readonly string[]): boolean =>
  ancestor.every((name, at) => path[at] === name);

/** The keys of block mappings with the comment right above each; two spaces are one level, as the formatter indents. */
function keysOf(text: string): readonly Key[] {
  const keys: Key[] = [];
  let comment: string[] = [];
  let path: string[] = [];
  for (const line of text.split("\n")) {
    const [, blanks = "", name] = /^((?: {2})*)([A-Za-z][A-Za-z0-9]*):(?: |$)/.exec(line) ?? [];
    const [, remark] = /^ *# ?(.*)$/.exec(line) ?? [];
    if (remark !== undefined) comment.push(remark);
    else {
      if (name !== undefined) {
        path = [...path.slice(0, blanks.length / 2), name];
        keys.push({ path, comment: comment.join(" ") });
      }
      comment = [];
    }
  }
  return keys;
}

/** Longer ones would make the table too wide. */
const longestDefault = 60;

/** The values as a Markdown table. */
export function valuesMarkdown(values: readonly DocumentedValue[]): string {
  const rows = values.map(({ path, default: text, meaning }) => [
    `\`${path}\``,
    text === undefined ? "" : text.length > longestDefault ? "see `values.yaml`" : `\`${text}\``,
    meaning.replaceAll("|", "\\|"),
  ]);
  const all = [["value", "default", "meaning"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = all;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
