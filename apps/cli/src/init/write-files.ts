import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Fault, notTried } from "../fault.ts";
import { faultsOf } from "../manifest/lint.ts";
import { runEnforcementPoint } from "../upstreams/run-enforcement-point.ts";

export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** Ours alone, such as a schema: one that is there is kept, unless all are overwritten. */
  readonly isKept?: boolean;
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** @throws {Fault} that names each file which is there already */
export async function refuseExisting(paths: readonly string[], force: boolean | undefined): Promise<void> {
  if (force) return;
  const found: string[] = [];
  for (const path of paths) if (await exists(path)) found.push(path);
  if (found.length === 0) return;
  const are = found.length === 1 ? "is" : "are";
  throw notTried(
    `${found.join(" and ")} ${are} there already`,
    "Name other files, overwrite with --force, or write the manifest of another agent alone: svc manifest init.",
  );
}

/** Checks each file as its reader does. @throws {Fault} before anything is written */
export async function refuseInvalid({ upstreams, manifest }: { upstreams?: string; manifest: string }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-init-"));
  try {
    const manifestFile = join(folder, "manifest.yaml");
    await writeFile(manifestFile, manifest);
    const { faults } = await faultsOf(manifestFile);
    if (faults.length > 0) throw new Fault(faults.join("\n"), "Nothing was written. Leave out the source it names.");
    if (upstreams === undefined) return;
    const upstreamsFile = join(folder, "pep.yaml");
    await writeFile(upstreamsFile, upstreams);
    await runEnforcementPoint(["--lint", upstreamsFile], "Nothing was written. Leave out the source that it names.");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns the paths that were written */
export async function writeFiles(files: readonly NewFile[], force: boolean | undefined): Promise<readonly string[]> {
  const written: string[] = [];
  for (const { path, text, isKept } of files) {
    if (isKept && !force && (await exists(path))) continue;
    await mkdir(dirname(path), { recursive: true }).catch(notWritable(path));
    await writeFile(path, text).catch(notWritable(path));
    written.push(path);
  }
  return written;
}

const notWritable = (path: string) => (cause: unknown) => {
  throw notTried(`${path} cannot be written`, "Check its folder and permissions.", cause);
};
