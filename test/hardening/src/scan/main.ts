import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { scanAdvisories } from "./advisories.ts";
import { exitCodeOf, type ScanName, type ScanResult, scanNames } from "./finding.ts";
import { scanLicences } from "./licences.ts";
import { pnpmIn } from "./pnpm.ts";
import { scanSecrets } from "./scan-secrets.ts";

const help = `Looks for known vulnerabilities, licences that are not allowed, and credentials in the tree and its history.

  pnpm scan [--only NAME]...

  --only NAME   ${scanNames.join(", ")}; by default all

Exit codes:
  0   every scan ran and found nothing
  1   something was found
  2   nothing was found, but a scan could not run: the registry has no advisories, or the clone is shallow

Examples:
  pnpm scan
  pnpm scan --only secrets
  pnpm scan --only licences --only secrets     # without a registry
`;

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const pnpm = pnpmIn(workspace);
const scans: Readonly<Record<ScanName, () => Promise<ScanResult>>> = {
  advisories: () => scanAdvisories(pnpm),
  licences: () => scanLicences(pnpm),
  secrets: () => scanSecrets(workspace),
};

const log = (line: string): void => void process.stdout.write(`${line}\n`);

function report(name: ScanName, result: ScanResult): void {
  if (result.kind === "clean") log(`${name}: nothing found in ${result.looked}`);
  else if (result.kind === "unknown") log(`${name}: DID NOT RUN: ${result.why}`);
  else for (const finding of result.findings) log(`${name}: FOUND ${finding}`);
}

function chosen(): readonly ScanName[] | undefined {
  const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, help: { type: "boolean" } } });
  if (values.help) return undefined;
  const unknown = values.only?.find((name) => !scanNames.includes(name as ScanName));
  if (unknown !== undefined) throw new Error(`--only ${unknown} is unknown, use one of ${scanNames.join(", ")}`);
  return scanNames.filter((name) => values.only?.includes(name) ?? true);
}

try {
  const names = chosen();
  if (names === undefined) process.stdout.write(help);
  else {
    const results: ScanResult[] = [];
    for (const name of names) {
      const result = await scans[name]();
      report(name, result);
      results.push(result);
    }
    process.exitCode = exitCodeOf(results);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}. See pnpm scan --help.\n`);
  process.exitCode = 2;
}
