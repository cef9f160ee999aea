export { changelogFaults } from "./changelog.ts";
export { type NamedVersion, namedVersions, versionFaults } from "./versions.ts";
