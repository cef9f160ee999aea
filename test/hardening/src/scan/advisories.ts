import type { ScanResult } from "./finding.ts";
import type { RunPnpm } from "./pnpm.ts";

interface Advisory {
  readonly module_name: string;
  readonly severity: string;
  readonly title: string;
  readonly url: string;
}

/** The registry's advisories on the production dependencies. A registry without that endpoint is unknown, not clean. */
export async function scanAdvisories(pnpm: RunPnpm): Promise<ScanResult> {
  const { stdout, stderr } = await pnpm(["audit", "--prod", "--json"]);
  const advisories = readAdvisories(stdout);
  if (advisories === undefined)
    return { kind: "unknown", why: `the registry gave no advisories: ${lineOf(stderr || stdout)}` };
  if (advisories.length === 0) return { kind: "clean", looked: "every production dependency" };
  return {
    kind: "found",
    findings: advisories.map(
      ({ module_name, severity, title, url }) =>
        `${module_name}: ${severity}: ${title} (${url}). Raise it past the advisory.`,
    ),
  };
}

/** Undefined for anything but an audit report, such as an error. */
export function readAdvisories(report: string): readonly Advisory[] | undefined {
  try {
    const { advisories } = JSON.parse(report) as { readonly advisories?: Readonly<Record<string, Advisory>> };
    return advisories && Object.values(advisories);
  } catch {
    return undefined;
  }
}

/** pnpm's report in one line, without the registry's address. */
const lineOf = (text: string): string =>
  text
    .replace(/https?:\/\/\S+/g, "")
    .replace(/[│×\s]+/g, " ")
    .trim()
    .slice(0, 200);
