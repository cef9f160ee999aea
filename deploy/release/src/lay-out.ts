import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildTree, contentOf, programs } from "@svc/images";
// By path: both are support of tests, and used only here besides.
import { chartFolder, helm } from "../../../test/helm/src/helm.ts";
import { packAll } from "../../../test/packages/src/pack.ts";

/** Writes a release: `packages/*.tgz`, the chart, each image's bill of materials, and `SHA256SUMS` of all. */
export async function layOut(workspace: string, folder: string, log: (line: string) => void): Promise<void> {
  for (const part of ["packages", "chart", "sbom"]) mkdirSync(join(folder, part), { recursive: true });
  await packAll(join(folder, "packages"));
  const { code, stderr } = await helm(["package", chartFolder, "--destination", join(folder, "chart")]);
  if (code !== 0) throw new Error(`the chart cannot be packaged: ${stderr}`);
  for (const program of programs) {
    const tree = join(folder, program);
    await buildTree({ program, workspace, out: tree });
    const bytes = contentOf(tree).reduce((sum, file) => sum + file.bytes, 0);
    log(`image ${program.padEnd(14)} ${(bytes / 2 ** 20).toFixed(1).padStart(5)} MiB of content`);
    copyFileSync(join(tree, "sbom.cdx.json"), join(folder, "sbom", `${program}.cdx.json`));
    rmSync(tree, { recursive: true });
  }
  const files = contentOf(folder);
  writeFileSync(join(folder, "SHA256SUMS"), files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join(""));
  for (const { path, bytes } of files) log(`${path.padEnd(60)} ${(bytes / 1024).toFixed(1).padStart(7)} KiB`);
}
