import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { filesBelow } from "./content.ts";
import { imageManifest, isKept, type Manifest } from "./kept.ts";

/** The images; each name is also the app's folder and the Dockerfile's target. */
export const programs = ["control-plane", "pep", "injector", "cli", "examples"] as const;
export type Program = (typeof programs)[number];

export const isProgram = (name: string): name is Program => (programs as readonly string[]).includes(name);

const execute = promisify(execFile);

export interface TreeOptions {
  readonly program: Program;
  /** The workspace, installed and built. */
  readonly workspace: string;
  /** Created; must not exist. */
  readonly out: string;
}

/**
 * Builds the content of a program's image below `/app`: its `dist`, its production dependencies as plain folders, the
 * health check, and the bill of materials. Works offline, from the workspace's own store. The same workspace gives the same
 * bytes, modes and times.
 * @throws where the workspace is not built, or lacks a dependency
 */
export async function buildTree({ program, workspace, out }: TreeOptions): Promise<void> {
  requireBuilt(workspace);
  await execute("pnpm", ["--filter", "@svc/control-plane", "run", "prepack"], { cwd: workspace });
  const work = mkdtempSync(join(tmpdir(), `svc-image-${program}-`));
  try {
    const [bill] = await Promise.all([
      billOfMaterials(program, workspace),
      execute("pnpm", deployArguments(program, join(work, "app")), { cwd: workspace }),
    ]);
    mkdirSync(out);
    copyKept(join(work, "app"), out);
    copyFileSync(join(workspace, healthCheck), join(out, "healthcheck.js"));
    writeFileSync(join(out, "sbom.cdx.json"), bill);
    settle(out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const healthCheck = "deploy/images/dist/healthcheck.js";

/** The health check is part of the build; without it other `dist` folders may be missing. */
function requireBuilt(workspace: string): void {
  if (existsSync(join(workspace, healthCheck))) return;
  throw new Error("the workspace is not built: run `pnpm build` first");
}

/** Without optional packages: they are the embedded database, and an image uses external stores. */
const deployArguments = (program: Program, folder: string): readonly string[] => [
  "--filter",
  `@svc/${program}`,
  "--prod",
  "--no-optional",
  "--offline",
  // Plain folders: links into a store would contain the workspace's path.
  "--config.node-linker=hoisted",
  "deploy",
  folder,
];

/** Copies, never links: deployed files may share their bytes with the store and the workspace. */
function copyKept(from: string, to: string): void {
  for (const path of filesBelow(from, isKept)) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    if (isOurManifest(path)) writeFileSync(join(to, path), manifestText(join(from, path)));
    else copyFileSync(join(from, path), join(to, path));
  }
}

const isOurManifest = (path: string): boolean => /^(node_modules\/@svc\/[^/]+\/)?package\.json$/.test(path);

function manifestText(file: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(file, "utf8"));
  return `${JSON.stringify(imageManifest(manifest), null, 2)}\n`;
}

/** Readable by every user, writable by root only, with a fixed time. */
function settle(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() ? 0o755 : 0o644);
    utimesSync(path, 0, 0);
  }
  chmodSync(folder, 0o755);
  utimesSync(folder, 0, 0);
}

/** The members of a CycloneDX document that are sorted here. */
interface Bill {
  readonly serialNumber: string;
  readonly metadata: object;
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/** CycloneDX 1.7 from the lock file. Reproducible: lists are sorted, the optional serial number and time left out. */
async function billOfMaterials(program: Program, workspace: string): Promise<string> {
  const args = ["--filter", `@svc/${program}`, "--prod", "--no-optional", "sbom"];
  const format = ["--sbom-format", "cyclonedx", "--sbom-type", "application"];
  const { stdout } = await execute("pnpm", [...args, ...format], { cwd: workspace, maxBuffer: 64 * 1024 * 1024 });
  const { serialNumber: _, ...bill }: Bill = JSON.parse(stdout);
  const ordered = {
    ...bill,
    metadata: { ...bill.metadata, timestamp: undefined },
    components: sortedBy(bill.components, (component) => component["bom-ref"]),
    dependencies: sortedBy(bill.dependencies, ({ ref }) => ref).map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.toSorted(),
    })),
  };
  return `${JSON.stringify(ordered, null, 2)}\n`;
}

const sortedBy = <T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] =>
  items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
