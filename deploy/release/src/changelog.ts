/**
 * The faults of the change log for a release: the version needs a section with entries. A dry run accepts "Unreleased",
 * which becomes that section.
 */
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
