import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runCommand } from "@svc/test-support";
import { mutations } from "./index.ts";
import { judge, type Outcome } from "./judge.ts";
import { openLedger } from "./ledger.ts";
import type { Mutation } from "./mutation.ts";
import type { Report } from "./report.ts";
import { openScratch, type Scratch } from "./scratch.ts";

const help = `Removes one control after the other in a clone of the last commit, and runs the test that must then fail.

  pnpm mutations [--minutes N] [--again] [--only NAME]...

  --minutes N   begins no mutation after N minutes; by default runs all
  --again       includes those that were killed before and have not changed
  --only NAME   this one; --list names them
  --list        names them, with the test of each

Exit codes:
  0   all were killed, in this run or before
  1   one survived, or is unproven: its test fails with the control too, or hangs without it
  2   time was up, or the run failed

Examples:
  pnpm mutations
  pnpm mutations --minutes 10              # the next run continues
  pnpm mutations --only signature-unchecked --again
`;

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const log = (line: string): void => void process.stdout.write(`${line}\n`);

function read() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string" },
      only: { type: "string", multiple: true },
      again: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const unknown = values.only?.find((name) => !mutations.some((mutation) => mutation.name === name));
  if (unknown !== undefined) throw new Error(`--only ${unknown} is no mutation: --list names them`);
  if (values.minutes !== undefined && !/^\d+(?:\.\d+)?$/.test(values.minutes))
    throw new Error("--minutes takes a number");
  const lastsMs = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes) * 60_000;
  return {
    ...values,
    endsMs: performance.now() + lastsMs,
    chosen: mutations.filter(({ name }) => values.only?.includes(name) ?? true),
  };
}

async function run({ chosen, again, endsMs, list }: ReturnType<typeof read>): Promise<number> {
  if (list) {
    for (const { name, killedBy } of chosen) log(`${name}: ${killedBy.file}: ${killedBy.name}`);
    return 0;
  }
  const ledger = openLedger(root);
  const due = again ? chosen : chosen.filter((mutation) => !ledger.has(mutation));
  log(`${chosen.length - due.length} were killed before and have not changed; ${due.length} to try`);
  if (due.length === 0) return 0;
  const scratch = await openScratch(root);
  try {
    const tried = await tryAll(scratch, due, endsMs, (mutation, outcome) => {
      if (outcome === "killed") ledger.add(mutation);
      log(
        `${outcome}: ${mutation.name}${outcome === "killed" ? "" : ` (${mutation.killedBy.file}: ${mutation.killedBy.name})`}`,
      );
    });
    const count = (wanted: Outcome) => tried.filter((outcome) => outcome === wanted).length;
    log(
      `${count("killed")} killed, ${count("survived")} survived, ${count("unproven")} unproven, ${due.length - tried.length} not tried`,
    );
    if (tried.some((outcome) => outcome !== "killed")) return 1;
    return tried.length < due.length ? 2 : 0;
  } finally {
    scratch.remove();
  }
}

async function tryAll(
  scratch: Scratch,
  due: readonly Mutation[],
  endsMs: number,
  onOutcome: (mutation: Mutation, outcome: Outcome) => void,
): Promise<readonly Outcome[]> {
  const unchanged = new Map<string, Report>();
  const tried: Outcome[] = [];
  for (const mutation of due) {
    if (performance.now() > endsMs) break;
    const { killedBy } = mutation;
    const tests = `${killedBy.file}: ${killedBy.name}`;
    const before = unchanged.get(tests) ?? (await scratch.run(killedBy));
    unchanged.set(tests, before);
    const outcome = judge(mutation, before, await scratch.run(killedBy, mutation));
    onOutcome(mutation, outcome);
    tried.push(outcome);
  }
  return tried;
}

// An interrupted run leaves no clone behind, and continues the next time.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(2));

await runCommand({ name: "pnpm mutations", help, read, run });
