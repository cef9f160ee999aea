import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { changelogFaults } from "./changelog.ts";
import { layOut } from "./lay-out.ts";
import { namedVersions, versionFaults } from "./versions.ts";

const help = `release: check that everything is fit to be released together, and lay it out. It publishes nothing.

Usage:
  pnpm release --dry-run                check all, lay out, and throw away
  pnpm release --out FOLDER [--tag TAG] the same, kept: packages, chart, bills of materials, SHA256SUMS

Examples:
  pnpm release --dry-run                before a tag is set; "Unreleased" may stand for the version's section
  pnpm release --out release --tag v0.1.0

Exit codes: 0 fit; 1 not, with one line for each fault; 2 the command line is wrong.
`;

const workspace = fileURLToPath(new URL("../../../", import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

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
const isRehearsal = values["dry-run"];
if (isRehearsal === (values.out !== undefined)) fail(2, ["Say either --dry-run or --out FOLDER.", "", help]);

const { version }: { version: string } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));
const faults = [
  ...versionFaults(namedVersions(workspace), version),
  ...changelogFaults(readFileSync(join(workspace, "CHANGELOG.md"), "utf8"), version, isRehearsal),
  ...(values.tag === undefined || values.tag === `v${version}`
    ? []
    : [`the tag is ${values.tag}, but v${version} is released`]),
];
if (faults.length > 0) fail(1, faults);
say(`version ${version} everywhere, and in the change log`);

const folder = values.out === undefined ? mkdtempSync(join(tmpdir(), "svc-release-")) : resolve(values.out);
if (!isRehearsal && existsSync(folder)) fail(2, [`${folder} exists: name another folder, or remove it.`]);
let fault: readonly string[] | undefined;
try {
  // Metadata, types, and that an application can install and import all of them together.
  const { stdout } = await promisify(execFile)("pnpm", ["--silent", "packages"], { cwd: workspace });
  say(stdout.trimEnd());
  await layOut(workspace, folder, say);
} catch (error) {
  const { message, stderr = "" } = error as Error & { stderr?: string };
  fault = [message, stderr];
}
// What was laid out in part is nothing that anybody may publish.
if (isRehearsal || fault !== undefined) rmSync(folder, { recursive: true, force: true });
if (fault !== undefined) fail(1, fault);
say(isRehearsal ? "fit to be released; nothing was kept" : `laid out in ${folder}`);
