import { Command, InvalidArgumentError, Option } from "commander";
import { registerExamples } from "../dev/register-examples.ts";
import { type StackOptions, startStack } from "../dev/stack.ts";
import { devLine, devSummary } from "../dev/summary.ts";
import { progress } from "../progress.ts";
import { untilSignal } from "../signals.ts";

interface DevFlags extends Pick<StackOptions, "pepConfig" | "databaseUrl" | "redisUrl" | "mode" | "port" | "dataDir"> {
  json?: boolean;
  withExample?: boolean;
  verbose?: boolean;
}

const examples = `
Examples:
  svc dev --with-example               everything, with two agents registered to try it on
  svc dev --json --port 0              one line of JSON when ready, free ports throughout
  svc dev --mode observe --pep-config ./upstreams.yaml
                                       before services of your own, blocking nothing
  svc dev --data-dir .svc-data         keep what was recorded for the next start
`;

export const devCommand = (): Command =>
  new Command("dev")
    .description("Start control plane, enforcement point and two example services on this machine.")
    .option("--json", "print one line of JSON when everything runs, and nothing else")
    .option("--with-example", "register the example agents")
    .option("--pep-config <file>", "upstreams of the enforcement point (default: the example services)")
    .option("--database-url <url>", "PostgreSQL to use (default: an embedded one)")
    .option("--redis-url <url>", "cache store to use (default: in process)")
    .addOption(new Option("--mode <mode>", "what the enforcement point does").choices(["enforce", "observe"]))
    .option("--port <port>", "port of the control plane; 0: free ports throughout", portNumber)
    .option("--data-dir <folder>", "keep state there (default: a fresh folder, removed at the end)")
    .option("--verbose", "show what the processes log")
    .addHelpText("after", examples)
    .action(runDev);

function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("It must be a port number, or 0 for any.");
  return port;
}

async function runDev({ json = false, withExample = false, verbose = false, ...options }: DevFlags): Promise<void> {
  const signal = untilSignal();
  const steps = progress(json ? "silent" : "shown");
  const onLine = verbose ? (name: string, line: string) => process.stderr.write(`${name} | ${line}\n`) : undefined;
  const starting = startStack({ ...options, onProgress: steps.show, ...(onLine && { onLine }) }, process.env);
  const stack = await Promise.race([starting, signal.then(() => undefined)]);
  if (stack === undefined) return void (await starting.then((late) => late.stop()).catch(() => {}));
  try {
    if (withExample) {
      steps.show("registering the example agents");
      await registerExamples(stack);
    }
    steps.done();
    process.stdout.write(`${json ? devLine(stack) : devSummary(stack, withExample)}\n`);
    await Promise.race([signal, stack.broken]);
  } finally {
    steps.show("stopping");
    await stack.stop();
    steps.done();
  }
}
