import { spawnSync } from "node:child_process";

/** What `promtool check metrics` says of a scrape: nothing where all is well. */
export function checkMetrics(text: string): string {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  return status === 0 ? `${stdout}${stderr}` : `${stdout}${stderr}exit code ${status}`;
}
