import { createLogWriter } from "../../src/logger.ts";

/**
 * A process that logs to its standard output, which it may share, as often as it is told, and tells how many lines it lost so far; told a
 * negative number, it exits right after those.
 */
let lost = 0;
const write = createLogWriter({
  component: "pep",
  level: "info",
  sharesOutput: process.argv.includes("shared"),
  onLost: () => {
    lost += 1;
  },
});

process.on("message", (lines: number) => {
  for (let n = 0; n < Math.abs(lines); n += 1) write("info", "call forwarded", { "authz.hop": n + 1 });
  if (lines < 0) process.exit();
  process.send?.(lost);
});
process.send?.("ready");
