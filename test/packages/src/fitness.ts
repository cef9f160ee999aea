import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./pack.ts";

const programs = fileURLToPath(new URL("../node_modules/.bin/", import.meta.url));

/** @throws publint's findings on the tarball's metadata, suggestions included */
export const lint = (tarball: string): Promise<unknown> => runChecker("publint", ["run", "--strict", tarball]);

/** @throws attw's findings on the tarball's types, as ESM projects resolve them */
export const wrongTypes = (tarball: string): Promise<unknown> =>
  runChecker("attw", ["--profile", "esm-only", "--no-summary", "--no-emoji", "--format", "ascii", tarball]);

/** @throws where a source map of the tarball names a source that the tarball lacks */
export async function danglingMaps(tarball: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "svc-maps-"));
  try {
    await run("tar", ["-xzf", tarball, "-C", work]);
    const files = readdirSync(work, { recursive: true, encoding: "utf8" });
    const sources = files
      .filter((file) => file.endsWith(".map"))
      .flatMap((file) => sourcesOf(join(work, file)).map((source) => join(dirname(file), source)));
    const absent = sources.filter((source) => !files.includes(source));
    if (absent.length > 0) throw new Error(`source maps name absent sources: ${absent.join(", ")}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sourcesOf(map: string): readonly string[] {
  const { sources }: { sources: readonly string[] } = JSON.parse(readFileSync(map, "utf8"));
  return sources;
}

async function runChecker(program: string, args: readonly string[]): Promise<void> {
  try {
    await run(programs + program, args);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} rejects the tarball:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
