import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** The versions of everything that is released together: packages, apps, the chart, and the images in compose. */
export function namedVersions(workspace: string): readonly { where: string; version: string }[] {
  const read = (path: string): string => readFileSync(join(workspace, path), "utf8");
  const manifests = ["package.json", ...globSync("{packages,apps}/*/package.json", { cwd: workspace })];
  const charts = globSync("helm/*/Chart.yaml", { cwd: workspace });
  const images = read("deploy/compose/compose.yaml").matchAll(/image: agent-authorization-service\/(\S+):(\S+)/g);
  return [
    ...manifests.map((where) => ({ where, version: (JSON.parse(read(where)) as { version: string }).version })),
    ...charts.flatMap((where) => {
      const { version, appVersion }: { version: string; appVersion: string } = parse(read(where));
      return [
        { where: `${where} (version)`, version },
        { where: `${where} (appVersion)`, version: appVersion },
      ];
    }),
    ...[...images].map(([, name = "", version = ""]) => ({ where: `deploy/compose/compose.yaml (${name})`, version })),
  ];
}

/** One line for each other version. */
export const versionFaults = (named: ReturnType<typeof namedVersions>, version: string): readonly string[] =>
  named
    .filter((each) => String(each.version) !== version)
    .map(({ where, version: other }) => `${where}: is ${other}, but ${version} is released`);

/** A release needs a section with entries. A dry run accepts "Unreleased", which becomes that section. */
export function changelogFaults(changelog: string, version: string, isDryRun: boolean): readonly string[] {
  const own = sectionOf(changelog, version);
  if (own !== undefined) return hasEntries(own) ? [] : [`CHANGELOG.md: the section of ${version} is empty`];
  if (isDryRun && hasEntries(sectionOf(changelog, "Unreleased") ?? "")) return [];
  return [`CHANGELOG.md: section "## ${version}" is missing: rename "Unreleased" to it`];
}

/** The text below a second-level heading; a date may follow its name. */
function sectionOf(changelog: string, name: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.split(/\s/, 1)[0] === name)?.replace(/^.*\n/, "");
}

const hasEntries = (section: string): boolean => /^- \S/m.test(section);
