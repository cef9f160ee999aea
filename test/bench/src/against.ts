import { parseArgs } from "node:util";
import { hopsOf } from "./groups/hop-targets.ts";
import { writeCpu, writeTables } from "./report/tables.ts";
import { fullPace } from "./rig/bench.ts";
import { type Group, runGroups } from "./run.ts";

const usage = `pnpm bench against COMMIT [--rounds 24]

The hop of this checkout beside that of an earlier commit, built once, in turns and in one run: at 32 connections, then at one.
Five minutes on an idle machine.

Example
  npx --yes pnpm@12.4.2 bench against HEAD~10`;

/** @throws {Error} where no commit is named or it cannot be built. */
export async function benchAgainst(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { rounds: { type: "string", default: "24" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return console.log(usage);
  const [commit, ...others] = positionals;
  const rounds = Number(values.rounds);
  if (commit === undefined || others.length > 0) throw new Error(`name one commit\n\n${usage}`);
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds takes a whole number\n\n${usage}`);
  const inTurns: Group = async (bench, { earlier, ...ours }) => {
    if (earlier === undefined) return;
    for (const connections of [32, 1]) {
      const builds = [
        await hopsOf(bench, "this checkout", ours, connections),
        await hopsOf(bench, commit, earlier, connections),
      ];
      await bench.trial(`hop at ${connections}`, builds, rounds);
    }
  };
  const { figures, missing, failed } = await runGroups([inTurns], fullPace(), commit);
  console.log(`${writeTables(figures)}\n\n${writeCpu(figures)}`);
  const [why] = [...missing.values(), ...failed.values()];
  if (why !== undefined) throw new Error(why);
}
