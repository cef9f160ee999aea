import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installApplication } from "./application.ts";
import { danglingMaps, lint, wrongTypes } from "./fitness.ts";
import { packAll, run } from "./pack.ts";

/**
 * Packs every package as it would be published, checks the tarballs and prints their sizes: their metadata (publint),
 * the libraries' types (attw), and that an application with all of them can import each entry. Run after `tsc -b`.
 */
const work = mkdtempSync(join(tmpdir(), "svc-packages-"));
try {
  const packed = await packAll(work);
  const imported = packed.filter(({ manifest }) => manifest.bin === undefined);
  for (const { manifest, tarball, packedBytes } of packed) {
    await lint(tarball);
    await danglingMaps(tarball);
    if (manifest.bin === undefined) await wrongTypes(tarball);
    console.log(
      `${manifest.name.padEnd(16)} ${manifest.version}  ${(packedBytes / 1024).toFixed(1).padStart(6)} KiB packed`,
    );
  }
  const application = join(work, "application");
  await installApplication({ folder: application, packed, installed: imported.map(({ manifest }) => manifest.name) });
  const entries = imported.flatMap(({ manifest }) =>
    Object.keys(manifest.exports).map((entry) => join(manifest.name, entry)),
  );
  const program = entries.map((entry) => `await import(${JSON.stringify(entry)});`).join("\n");
  await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: application });
  console.log(`${packed.length} packages with ${entries.length} entries are fit to be published`);
} finally {
  rmSync(work, { recursive: true });
}
