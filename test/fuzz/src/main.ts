import { parseArgs } from "node:util";
import { runCommand } from "@svc/test-support";
import { type Finding, fuzz, isFinding, type Progress } from "./fuzz.ts";
import { openFuzzStand } from "./stand.ts";
import { targets } from "./targets/index.ts";

const help = `Fuzzes a real enforcement point with a real control plane.

  pnpm fuzz [--minutes N] [--cases N] [--seed S] [--target NAME]...

  --minutes N    duration, by default 1
  --cases N      number of cases, instead of a duration
  --seed S       first seed; by default a random one, which is printed
  --target NAME  ${targets.map(({ name }) => name).join(", ")}; by default all in turn

Targets:
${targets.map(({ name, about }) => `  ${name.padEnd(10)}${about}`).join("\n")}

Examples:
  pnpm fuzz --minutes 10
  pnpm fuzz --target calls --cases 100000
  pnpm fuzz --target raw --seed 4711      # the round that a finding names
`;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

function read() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      cases: { type: "string" },
      seed: { type: "string" },
      target: { type: "string", multiple: true },
      help: { type: "boolean", default: false },
    },
  });
  const number = (name: string, text: string) => {
    if (!/^\d+(?:\.\d+)?$/.test(text)) throw new Error(`--${name} takes a number`);
    return Number(text);
  };
  const chosen = values.target ?? targets.map(({ name }) => name);
  const unknown = chosen.find((name) => !targets.some((target) => target.name === name));
  if (unknown !== undefined)
    throw new Error(`--target ${unknown} is unknown, use one of ${targets.map(({ name }) => name).join(", ")}`);
  return {
    help: values.help,
    endsMs: performance.now() + number("minutes", values.minutes) * 60_000,
    cases: values.cases === undefined ? undefined : number("cases", values.cases),
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : number("seed", values.seed),
    targets: targets.filter(({ name }) => chosen.includes(name)),
  };
}

async function run({ endsMs, cases, seed, targets }: ReturnType<typeof read>): Promise<number> {
  log(`seed ${seed}`);
  const startedMs = performance.now();
  const stand = await openFuzzStand();
  try {
    const shouldContinue = (done: Progress) => (cases === undefined ? performance.now() < endsMs : done.cases < cases);
    const onProgress = (done: Progress) => {
      const seconds = (performance.now() - startedMs) / 1000;
      log(`${seconds.toFixed(0)} s: ${done.cases} cases, ${done.arrivals} went upstream (${done.target})`);
    };
    const result = await fuzz(stand, { targets, seed, shouldContinue, onProgress });
    if (isFinding(result)) report(result);
    else log(`Nothing found in ${result.cases} cases; ${result.arrivals} went upstream.`);
    return isFinding(result) ? 1 : 0;
  } finally {
    await stand.stop();
  }
}

function report({ target, seed, faults, ...seen }: Finding): void {
  log(`FOUND: ${faults.join("; ")}`);
  for (const [what, bytes] of Object.entries(seen)) log(`${what}: ${JSON.stringify(bytes)}`);
  log(`Again: pnpm fuzz --target ${target} --seed ${seed} --cases 1`);
}

await runCommand({ name: "pnpm fuzz", help, read, run });
