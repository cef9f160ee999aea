import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runCommand } from "@svc/test-support";
import { groups } from "./scenarios/groups.ts";
import { type Outcome, runScenario } from "./stand.ts";
import { headOfTable, rowOf } from "./table.ts";

const help = `Breaks a whole deployment under load, and checks that no record is lost and no forbidden call passes.

  pnpm faults [--only TEXT]... [--rounds N] [--seed S] [--json FILE]

  --only TEXT   scenarios and groups whose name contains TEXT
  --rounds N    repetitions, by default 1, each with its own seed
  --seed S      of the first round; by default a random one, which is printed
  --json FILE   also writes every outcome to FILE

Prints a Markdown table. Exits 1 if a guarantee was violated or a process did not recover.

Groups and their scenarios:
${groups.map(({ name, scenarioNames }) => [`  ${name}`, ...scenarioNames.map((each) => `    ${each}`)].join("\n")).join("\n")}

Examples:
  pnpm faults
  pnpm faults --only "kill -9" --rounds 20
  pnpm faults --only Sentinel --seed 4711
`;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} takes a whole number, such as --${name} 3`);
  return Number(text);
}

function read() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "1" },
      seed: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const { only } = values;
  const isChosen = (group: string, scenario: string) =>
    only.length === 0 || only.some((text) => group.includes(text) || scenario.includes(text));
  const chosen = groups.filter(({ name, scenarioNames }) => scenarioNames.some((each) => isChosen(name, each)));
  if (chosen.length === 0) throw new Error(`--only ${only.join(" ")} matches nothing; --help lists the scenarios`);
  return {
    ...{ help: values.help, json: values.json, chosen, isChosen },
    rounds: wholeNumber("rounds", values.rounds),
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber("seed", values.seed),
  };
}

async function run({ chosen, isChosen, rounds, seed, json }: ReturnType<typeof read>): Promise<number> {
  const outcomes: (Outcome & { readonly seed: number })[] = [];
  let faults = 0;
  const attempt = async (what: string, act: () => Promise<void>) => {
    try {
      await act();
    } catch (fault) {
      faults += 1;
      log(`  FAILED: ${what}: ${fault instanceof Error ? fault.message : String(fault)}`);
    }
  };
  process.stdout.write(headOfTable);
  for (let round = 0; round < rounds; round += 1) {
    for (const group of chosen) {
      log(`${group.name}, seed ${seed + round}`);
      // A failed scenario does not stop the next ones; a deployment beyond repair fails them all.
      await attempt(group.name, () =>
        group.each(async (deployment, scenario) => {
          if (!isChosen(group.name, scenario.name)) return;
          await attempt(scenario.name, async () => {
            const outcome = await runScenario(deployment, scenario, { seed: seed + round });
            outcomes.push({ ...outcome, seed: seed + round });
            faults += outcome.violations.length;
            process.stdout.write(rowOf(outcome));
            for (const { kind, of } of outcome.violations) log(`  BROKEN: ${kind} of ${of}`);
          });
        }),
      );
    }
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(outcomes, null, 2)}\n`);
  return faults === 0 ? 0 : 1;
}

await runCommand({ name: "pnpm faults", help, read, run });
