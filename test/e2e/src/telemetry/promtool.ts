import { spawnSync } from "node:child_process";

/** Of Debian's prometheus package, which not every machine has. */
const promtool = "promtool";
export const hasPromtool = spawnSync(promtool, ["--version"]).status === 0;

/** What `promtool check metrics` says of a scrape: nothing where all is well. */
export function checkMetrics(text: string): string {
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], { input: text, encoding: "utf8" });
  return status === 0 ? `${stdout}${stderr}` : `${stdout}${stderr}exit code ${status}`;
}
