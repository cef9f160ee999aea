import { AuthzClient, ControlPlaneRejected } from "@svc/client";
import { Command, InvalidArgumentError, Option } from "commander";
import { exampleAgents } from "../examples/agents.ts";
import { runStack, type Stack, type StackOptions } from "../stack/stack.ts";
import { devLine, devSummary } from "../stack/summary.ts";
import { StartError } from "../start-error.ts";

interface DevFlags
  extends Pick<StackOptions, "pepConfig" | "databaseUrl" | "redisUrl" | "mode" | "port" | "dataDir" | "provider"> {
  json?: boolean;
  withExample?: boolean;
  verbose?: boolean;
}

const examples = `
Examples:
  svc dev --with-example               the whole stack, with two registered agents
  svc dev --json --port 0              one line of JSON when ready; free ports
  svc dev --mode observe --pep-config ./upstreams.yaml
                                       for services of your own, without blocking
  svc dev --data-dir .svc-data         keep the data for the next start
`;

export const devCommand = (): Command =>
  new Command("dev")
    .description("Start control plane, enforcement point, example services and an OpenID provider on this machine.")
    .option("--json", "print one line of JSON when everything runs, and nothing else")
    .option("--with-example", "register the example agents, and let MCP clients log in to the example servers")
    .option("--no-provider", "start no OpenID provider for development; SVC_IDP_* of the environment name another")
    .option("--pep-config <file>", "upstreams of the enforcement point (default: the example services)")
    .option("--database-url <url>", "PostgreSQL to use (default: an embedded one)")
    .option("--redis-url <url>", "Redis to use (default: in process)")
    .addOption(new Option("--mode <mode>", "mode of the enforcement point").choices(["enforce", "observe"]))
    .option("--port <port>", "port of the control plane; 0: free ports for everything", portNumber)
    .option("--data-dir <folder>", "keep data there (default: a new folder, removed at the end)")
    .option("--verbose", "print the logs of the processes to standard error")
    .addHelpText("after", examples)
    .action(runDev);

function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("It must be a port number, or 0 for any.");
  return port;
}

async function runDev({ json = false, withExample = false, verbose = false, ...options }: DevFlags): Promise<void> {
  const onProgress = json ? () => {} : (step: string) => void process.stderr.write(`${step}\n`);
  const onLine = verbose ? (name: string, line: string) => process.stderr.write(`${name} | ${line}\n`) : undefined;
  await runStack({ ...options, withExample, onProgress, ...(onLine && { onLine }) }, async (stack, signal) => {
    if (withExample) {
      onProgress("registering the example agents");
      await registerExamples(stack);
    }
    process.stdout.write(`${json ? devLine(stack) : devSummary(stack, withExample)}\n`);
    await signal;
    onProgress("stopping");
  });
}

/** Registers the example agents; an agent that a kept data folder has already stays as it is. */
async function registerExamples(stack: Stack): Promise<void> {
  const client = new AuthzClient({ baseUrl: stack.controlPlane, adminToken: stack.bearers.admin, tracePath: "" });
  try {
    for (const agent of exampleAgents(stack)) {
      await client.admin.registerAgent(agent).catch((cause: unknown) => {
        if (cause instanceof ControlPlaneRejected && cause.code === "agent_exists") return;
        const message = cause instanceof Error ? cause.message : String(cause);
        const advice = "Start without --with-example.";
        throw new StartError(`registering ${agent.name} failed: ${message}`, advice, { cause });
      });
    }
  } finally {
    await client.close();
  }
}
