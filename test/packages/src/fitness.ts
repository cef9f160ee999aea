import { fileURLToPath } from "node:url";
import { run } from "./pack.ts";

const programs = fileURLToPath(new URL("../node_modules/.bin/", import.meta.url));

/** @throws publint's findings on the tarball's metadata, suggestions included */
export const lint = (tarball: string): Promise<unknown> => runChecker("publint", ["run", "--strict", tarball]);

/** @throws attw's findings on the tarball's types, as ESM projects resolve them */
export const wrongTypes = (tarball: string): Promise<unknown> =>
  runChecker("attw", ["--profile", "esm-only", "--no-summary", "--no-emoji", "--format", "ascii", tarball]);

async function runChecker(program: string, args: readonly string[]): Promise<void> {
  try {
    await run(programs + program, args);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} rejects the tarball:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
