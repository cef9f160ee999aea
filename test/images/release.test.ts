import { readFileSync } from "node:fs";
import { join } from "node:path";
import { changelogFaults, namedVersions, versionFaults } from "@svc/release";
import { describe, expect, test } from "vitest";
import { workspace } from "./src/trees.ts";

const { version } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));

test("packages, apps, chart and Compose images have one version, and a different one is reported", () => {
  const named = namedVersions(workspace);
  expect(named.length).toBeGreaterThan(15);
  for (const part of ["package.json", "packages/", "apps/", "helm/", "deploy/compose/"]) {
    expect(
      named.some(({ where }) => where.startsWith(part)),
      part,
    ).toBe(true);
  }
  expect(versionFaults(named, version)).toEqual([]);
  const [first, ...others] = named;
  expect(versionFaults([{ where: first?.where ?? "", version: "9.9.9" }, ...others], version)).toEqual([
    `${first?.where}: is 9.9.9, but ${version} is released`,
  ]);
});

test("the change log allows a rehearsal of a release", () => {
  expect(changelogFaults(readFileSync(join(workspace, "CHANGELOG.md"), "utf8"), version, true)).toEqual([]);
});

describe("the change log of a release", () => {
  test.each([
    ["has a section with entries", "# Changelog\n\n## 1.2.0 (2026-11-28)\n\n- One thing.\n\n## 1.1.0\n\n- Old.\n", 0],
    ["has an empty section", "# Changelog\n\n## 1.2.0\n\n## 1.1.0\n\n- Old.\n", 1],
    ["has the entries of another version alone", "# Changelog\n\n## 1.2.0-rc.1\n\n- One thing.\n", 1],
    ["still calls them unreleased", "# Changelog\n\n## Unreleased\n\n- One thing.\n", 1],
  ])("%s", (_, changelog, faults) => {
    expect(changelogFaults(changelog, "1.2.0", false)).toHaveLength(faults);
  });

  test("may be unreleased in a rehearsal, but not empty", () => {
    expect(changelogFaults("## Unreleased\n\n- One thing.\n", "1.2.0", true)).toEqual([]);
    expect(changelogFaults("## Unreleased\n\n", "1.2.0", true)).toHaveLength(1);
  });
});
