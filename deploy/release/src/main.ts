import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { buildTree, contentOf, programs } from "@svc/images";
// By path: both are support of tests, and used only here besides.
import { chartFolder, helm } from "../../../test/helm/src/helm.ts";
import { packAll } from "../../../test/packages/src/pack.ts";
import { changelogFaults, namedVersions, versionFaults } from "./index.ts";

const help = `release: check that everything can be released together, and write it to a folder. It publishes nothing.

Usage:
  pnpm release --dry-run                check everything, keep nothing
  pnpm release --out FOLDER [--tag TAG] [--repository URL]
                                        the same, and keep packages, chart, bills of materials and SHA256SUMS

  --tag         must be the version's
  --repository  address of the source, which the packages name: npm compares it with the provenance

Examples:
  pnpm release --dry-run                before setting a tag; "Unreleased" may take the place of the version's section
  pnpm release --out release --tag v0.1.0 --repository https://git.example/owner/project

Exit codes: 0 success; 1 a line for each fault; 2 the command line is wrong.
`;

const workspace = fileURLToPath(new URL("../../../", import.meta.url));
const log = (line: string): void => void process.stdout.write(`${line}\n`);

function fail(code: 1 | 2, lines: readonly string[]): never {
  process.stderr.write(`${lines.join("\n")}\n`);
  process.exit(code);
}

const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    out: { type: "string" },
    tag: { type: "string" },
    repository: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const isDryRun = values["dry-run"];
if (isDryRun === (values.out !== undefined)) fail(2, ["Give either --dry-run or --out FOLDER.", "", help]);
const repository =
  values.repository === undefined ? undefined : `git+${values.repository.replace(/(\.git)?$/, ".git")}`;
if (repository?.startsWith("git+https://") === false) fail(2, ["--repository must be an https address."]);

const { version }: { version: string } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));
const faults = [
  ...versionFaults(namedVersions(workspace), version),
  ...changelogFaults(readFileSync(join(workspace, "CHANGELOG.md"), "utf8"), version, isDryRun),
  ...(values.tag === undefined || values.tag === `v${version}`
    ? []
    : [`the tag is ${values.tag}, but v${version} is released`]),
];
if (faults.length > 0) fail(1, faults);
log(`version ${version} everywhere, and in the change log`);

const folder = values.out === undefined ? mkdtempSync(join(tmpdir(), "svc-release-")) : resolve(values.out);
if (!isDryRun && existsSync(folder)) fail(2, [`${folder} exists: name another folder, or remove it.`]);
let fault: readonly string[] | undefined;
try {
  // Checks metadata, types, and that an application can install and import all packages together.
  const { stdout } = await promisify(execFile)("pnpm", ["--silent", "packages"], { cwd: workspace });
  log(stdout.trimEnd());
  await layOut();
} catch (error) {
  const { message, stderr = "" } = error as Error & { stderr?: string };
  fault = [message, stderr];
}
// An incomplete release must not be published.
if (isDryRun || fault !== undefined) rmSync(folder, { recursive: true, force: true });
if (fault !== undefined) fail(1, fault);
log(isDryRun ? "ready to release; nothing was kept" : `written to ${folder}`);

/** Writes a release: `packages/*.tgz`, the chart, each image's bill of materials, and `SHA256SUMS` of all. */
async function layOut(): Promise<void> {
  for (const part of ["packages", "chart", "sbom"]) mkdirSync(join(folder, part), { recursive: true });
  await packAll(join(folder, "packages"), repository);
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
