import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runCommand } from "@svc/test-support";
import { startUsualDeployment } from "../deployment.ts";
import { headOfTable, rowOf } from "../table.ts";
import { soak } from "./soak.ts";

const help = `Runs a whole deployment under load with a fault every hundredth call, and checks that nothing is lost and nothing grows.

  pnpm soak [--minutes N] [--seed S] [--json FILE]

  --minutes N   duration, by default 10
  --seed S      of calls and faults, by default 1
  --json FILE   also writes every sample to FILE

Prints memory, descriptors, connections and dead rows meanwhile. Exits 1 if one of them grew or a guarantee was violated.

Examples:
  pnpm soak
  pnpm soak --minutes 120 --json soak.json
`;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

function read() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const number = (name: string, text: string) => {
    if (!/^\d+(?:\.\d+)?$/.test(text)) throw new Error(`--${name} takes a number, such as --${name} 10`);
    return Number(text);
  };
  return {
    ...{ help: values.help, json: values.json },
    minutes: number("minutes", values.minutes),
    seed: number("seed", values.seed),
  };
}

async function run({ minutes, seed, json }: ReturnType<typeof read>): Promise<number> {
  // With much memory the runtime collects garbage late; with little, only retained memory grows.
  const deployment = await startUsualDeployment({ env: { NODE_OPTIONS: "--max-old-space-size=160" } });
  try {
    const soaked = await soak(deployment, {
      ...{ minutes, seed },
      onSample: ({ atSeconds, memoryMib, descriptors, connections, deadRowsPercent }, { made, refused, lost }) =>
        log(
          `${atSeconds} s: ${made} calls, ${refused + lost} failed; ${memoryMib.toFixed(0)} MiB, ${descriptors} descriptors, ` +
            `${connections} connections, ${deadRowsPercent.toFixed(1)}% dead rows`,
        ),
    });
    process.stdout.write(headOfTable + rowOf(soaked.outcome));
    for (const { measure, early, late, isFlat } of soaked.trends) {
      process.stdout.write(`${measure}: ${early.toFixed(1)} early, ${late.toFixed(1)} late${isFlat ? "" : ": GREW"}\n`);
    }
    for (const { kind, of } of soaked.violations) log(`BROKEN: ${kind} of ${of}`);
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(soaked, null, 2)}\n`);
    return soaked.violations.length === 0 && soaked.trends.every(({ isFlat }) => isFlat) ? 0 : 1;
  } finally {
    await deployment.stop();
  }
}

await runCommand({ name: "pnpm soak", help, read, run });
