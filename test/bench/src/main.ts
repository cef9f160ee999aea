import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { benchAgainst } from "./against.ts";
import { benchAgentDojo } from "./agentdojo/main.ts";
import { percent } from "./measure/trial.ts";
import { readOptions, usage } from "./options.ts";
import { benchPush } from "./push.ts";
import { plotsOf } from "./report/curves.ts";
import { changesSince, type KeptRun, keepRun, readHistory, toKeptRun } from "./report/history.ts";
import { drawPlot } from "./report/plot.ts";
import { writeCpu, writeTables, writeTargets } from "./report/tables.ts";
import { judge, type TargetResult } from "./report/targets.ts";
import { fullPace, idleAtMost, quickPace, type Results } from "./rig/bench.ts";
import { run } from "./run.ts";
import { benchTelemetry } from "./telemetry.ts";

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));

async function main(args: readonly string[]): Promise<void> {
  if (args[0] === "telemetry") return benchTelemetry(args.slice(1));
  if (args[0] === "agentdojo") return benchAgentDojo(buildFirst);
  if (args[0] === "push" || args[0] === "against") {
    buildFirst();
    return args[0] === "push" ? benchPush(args.slice(1)) : benchAgainst(args.slice(1));
  }
  const options = readOptions(args);
  if (options === undefined) return console.log(usage);
  buildFirst();
  const results = await run(options.parts, options.isQuick ? quickPace() : fullPace());
  const targets = judge(results.figures);
  print(results, targets);
  const facts = { at: new Date().toISOString(), commit: commit(), machine: machine(), quick: options.isQuick };
  const kept = toKeptRun(facts, results.figures, targets);
  printChanges(kept);
  if (options.save) save(kept, results);
  if (results.failed.size > 0) process.exitCode = 1;
  if (options.json) console.log(JSON.stringify(toJson(kept, targets, results)));
}

/** The published build is started and measured. */
function buildFirst(): void {
  const compiler = `${root}node_modules/.bin/tsc`;
  execFileSync(compiler, ["-b", "apps/control-plane", "apps/pep"], { cwd: root, stdio: ["ignore", 2, 2] });
}

function print({ figures, missing, failed }: Results, targets: readonly TargetResult[]): void {
  const { cores, model, node } = machine();
  console.log(`# ${cores} cores of ${model}, Node ${node}\n`);
  console.log(
    `A sample is clean where others took at most ${percent(idleAtMost)} of the machine. Medians, least-most.\n`,
  );
  for (const part of [writeTables(figures), writeCpu(figures), writeTargets(targets)]) console.log(`${part}\n`);
  for (const [what, why] of missing) console.log(`MISSING: ${what}: ${why}`);
  for (const [group, why] of failed) console.log(`FAILED: ${group}: ${why}`);
}

function printChanges(kept: KeptRun): void {
  const changes = changesSince(readHistory(historyFile), kept).slice(0, 10);
  if (changes.length === 0) return;
  console.log("\n## Changed most since the last run that was kept, now / then\n");
  for (const [key, ratio] of changes) console.log(`- ${key}: ${ratio.toFixed(2)}`);
}

const historyFile = here("history.json");

function save(kept: KeptRun, { figures }: Results): void {
  keepRun(historyFile, kept);
  mkdirSync(here("plots"), { recursive: true });
  for (const [file, plot] of plotsOf(figures)) writeFileSync(here(`plots/${file}`), drawPlot(plot));
}

const toJson = (kept: KeptRun, targets: readonly TargetResult[], { missing, failed }: Results) => ({
  targets,
  missing: Object.fromEntries(missing),
  failed: Object.fromEntries(failed),
  ...{ at: kept.at, commit: kept.commit, machine: kept.machine, quick: kept.quick, figures: kept.figures },
});

const machine = (): KeptRun["machine"] => ({
  cores: cpus().length,
  model: cpus()[0]?.model ?? "an unknown kind",
  node: process.version,
});

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}

try {
  await main(process.argv.slice(2));
  process.exit();
} catch (cause) {
  console.error(cause instanceof Error ? (cause.stack ?? cause.message) : cause);
  process.exit(1);
}
