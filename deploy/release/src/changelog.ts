/**
 * What a release of the version lacks in the change log: a section of its own with something in it. A rehearsal is content
 * with what stands under "Unreleased", which becomes that section.
 */
export function changelogFaults(changelog: string, version: string, isRehearsal: boolean): readonly string[] {
  const own = sectionOf(changelog, version);
  if (own !== undefined) return hasEntries(own) ? [] : [`CHANGELOG.md: the section of ${version} is empty`];
  if (isRehearsal && hasEntries(sectionOf(changelog, "Unreleased") ?? "")) return [];
  return [`CHANGELOG.md: there is no section "## ${version}": give what stands under "Unreleased" that heading`];
}

/** What stands between a heading of the second level, whatever date follows its name, and the next. */
function sectionOf(changelog: string, name: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.split(/\s/, 1)[0] === name)?.replace(/^.*\n/, "");
}

const hasEntries = (section: string): boolean => /^- \S/m.test(section);
