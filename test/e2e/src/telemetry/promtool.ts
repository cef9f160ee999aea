import { spawnSync } from "node:child_process";

/** The report of `promtool check metrics` on a scrape: empty for a valid one. */
export function checkMetrics(text: string): string {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  return status === 0 ? `${stdout}${stderr}` : `${stdout}${stderr}exit code ${status}`;
}
