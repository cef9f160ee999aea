import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface LogLine {
  readonly text: string;
  readonly record: Readonly<Record<string, unknown>>;
}

/** A process's standard output: one JSON object a line, and nothing else. */
export const readLog = (stdout: string): readonly LogLine[] =>
  stdout
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => ({ text, record: JSON.parse(text) }));

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const folders = ["apps/control-plane/src", "apps/pep/src", "packages/telemetry/src", "packages/host/src"];

/** Every string literal of the sources: a message that is none of them was composed (rule: static). */
export function literalsOfTheSources(): ReadonlySet<string> {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: workspace }));
  return new Set(
    files.flatMap((file) =>
      [...readFileSync(`${workspace}/${file}`, "utf8").matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, text = ""]) => text),
    ),
  );
}
