import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Packs every library as it would be published and checks the tarballs: their metadata (publint), their types (attw),
 * and that an application which installs them all together can import each entry. Run after `tsc -b`.
 */
interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "svc-packages-"));
const show = { cwd: root, stdio: "inherit" } as const;

try {
  const packed = libraries().map(({ folder, manifest }) => ({ manifest, tarball: pack(folder) }));
  for (const { manifest, tarball } of packed) {
    console.log(`\n${manifest.name}`);
    execFileSync("publint", ["run", "--strict", tarball], show);
    execFileSync("attw", ["--profile", "esm-only", "--no-summary", "--no-emoji", "--format", "ascii", tarball], show);
  }
  importAll(packed);
  console.log(`\n${packed.length} packages are fit to be published`);
} finally {
  rmSync(work, { recursive: true });
}

function libraries(): { folder: string; manifest: Manifest }[] {
  return readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true);
}

function pack(folder: string): string {
  const output = execFileSync("pnpm", ["pack", "--json", "--pack-destination", work], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(output).filename;
}

/** Installed together, since each names the others by their versions, which no registry has yet. */
function importAll(packed: readonly { manifest: Manifest; tarball: string }[]): void {
  const application = join(work, "application");
  mkdirSync(application);
  const tarballs = Object.fromEntries(packed.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]));
  const description = {
    name: "application",
    private: true,
    type: "module",
    dependencies: tarballs,
    overrides: tarballs,
  };
  writeFileSync(join(application, "package.json"), JSON.stringify(description));
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { ...show, cwd: application });
  const entries = packed.flatMap(({ manifest }) =>
    Object.keys(manifest.exports).map((entry) => join(manifest.name, entry)),
  );
  const program = entries.map((entry) => `await import(${JSON.stringify(entry)});`).join("\n");
  execFileSync(process.execPath, ["--input-type=module", "--eval", program], { ...show, cwd: application });
}
