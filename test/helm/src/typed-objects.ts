import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { KubernetesObject } from "./render.ts";

const run = promisify(execFile);
// Inside the package, so that the models resolve.
const cacheFolder = fileURLToPath(new URL("../node_modules/.cache", import.meta.url));
const modelsOfGroup: Readonly<Record<string, string>> = {
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
  "cert-manager.io": "@kubernetes-models/cert-manager",
};

const moduleOf = (apiVersion: string): string => {
  const [group = ""] = apiVersion.split("/");
  return `${modelsOfGroup[group] ?? "kubernetes-models"}/${apiVersion}`;
};

/** The models' own schemas: types, formats and required members. @throws naming the fault */
export async function validate(object: KubernetesObject): Promise<void> {
  const models = await import(moduleOf(object.apiVersion));
  const Model = models[object.kind] as (new (object: KubernetesObject) => { validate(): void }) | undefined;
  if (Model === undefined) throw new Error(`${object.apiVersion} has no ${object.kind}`);
  new Model(object).validate();
}

/**
 * The API server's unknown fields, and misspelt words of closed sets: each object becomes a constant of its kind's
 * type, and the compiler reports mismatches. Empty where all fit.
 */
export async function typeFaults(objects: readonly KubernetesObject[]): Promise<readonly string[]> {
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, "objects-"));
  try {
    await writeFile(join(folder, "objects.ts"), constantsOf(objects));
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["objects.ts"] }));
    await run(process.execPath, [compiler(), "--project", folder, "--pretty", "false"]);
    return [];
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (stdout === undefined || stdout === "") throw error;
    return stdout.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const compilerOptions = {
  module: "nodenext",
  target: "es2024",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
};

const compiler = (): string =>
  join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

/** Equal objects once: the variants render most of them many times. */
function constantsOf(objects: readonly KubernetesObject[]): string {
  const distinct = new Map(objects.map((object) => [JSON.stringify(object, null, 1), object]));
  return [...distinct]
    .map(([text, { apiVersion, kind }], at) => {
      const type = `import(${JSON.stringify(moduleOf(apiVersion))}).I${kind}`;
      return `export const ${kind}${at}: ${type} = ${text};\n`;
    })
    .join("");
}
