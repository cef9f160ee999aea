import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { changelogFaults } from "./changelog.ts";
import { layOut } from "./lay-out.ts";
import { namedVersions, versionFaults } from "./versions.ts";

const help = `release: check that everything can be released together, and write it to a folder. It publishes nothing.

Usage:
  pnpm release --dry-run                check everything, keep nothing
  pnpm release --out FOLDER [--tag TAG] the same, and keep packages, chart, bills of materials and SHA256SUMS

Examples:
  pnpm release --dry-run                before setting a tag; "Unreleased" may take the place of the version's section
  pnpm release --out release --tag v0.1.0

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
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const isDryRun = values["dry-run"];
if (isDryRun === (values.out !== undefined)) fail(2, ["Give either --dry-run or --out FOLDER.", "", help]);

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
  await layOut(workspace, folder, log);
} catch (error) {
  const { message, stderr = "" } = error as Error & { stderr?: string };
  fault = [message, stderr];
}
// An incomplete release must not be published.
if (isDryRun || fault !== undefined) rmSync(folder, { recursive: true, force: true });
if (fault !== undefined) fail(1, fault);
log(isDryRun ? "ready to release; nothing was kept" : `written to ${folder}`);
