import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface LogLine {
  readonly text: string;
  readonly record: Readonly<Record<string, unknown>>;
}

/** What a process wrote on standard output: one JSON object a line, and nothing between them. */
export const readLog = (stdout: string): readonly LogLine[] =>
  stdout
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => ({ text, record: JSON.parse(text) }));

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const folders = ["apps/control-plane/src", "apps/pep/src", "packages/telemetry/src", "packages/host/src"];

/** Every text that stands in the sources as it is: a message that is not among them was put together (rule: static). */
export function literalsOfTheSources(): ReadonlySet<string> {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: workspace }));
  return new Set(
    files.flatMap((file) =>
      [...readFileSync(`${workspace}/${file}`, "utf8").matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, text = ""]) => text),
    ),
  );
}
