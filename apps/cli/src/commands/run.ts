import { Command, Option } from "commander";
import { withControlPlane } from "../control-plane.ts";
import { withoutSecretsInEnvironment } from "../run/clean-process.ts";
import type { RunFlags } from "../run/run-agent.ts";

const examples = `
HTTP and HTTPS calls of the command to the hosts of upstreams are guarded: it gets the enforcement point as HTTP_PROXY and
HTTPS_PROXY, and an authority that ends with the run, by the variables of Node, Python, Go, curl, git, AWS, Deno and Java.
SVC_PEP_URL is the enforcement point as a base address. Calls without a token use the run's session. Calls to other hosts
are refused while enforcing, and pass while observing, without a token and undecided. A client that ignores these variables is
not held; with --isolate its calls fail. At the end the guarded, denied and unlisted calls are listed.
It gets no other SVC_* variable, and no address of a database. The session ends with it. It runs as your user: it can
read your files, and the environment of what started svc. Hand the admin token over by SVC_ADMIN_TOKEN_FILE.

Examples:
  svc run --scope expenses --user ada --upstreams pep.yaml -- node agent.js
  svc run --scope expenses --user ada --upstreams pep.yaml --mode observe -- python agent.py
                                   blocks nothing, and lists the calls it would have blocked
  svc run --scope expenses --user ada --upstreams pep.yaml --mode observe --unlisted unlisted.json -- python agent.py
                                   and writes those that no route lists
  svc run --scope expenses --user ada --agent planner --upstreams pep.yaml -- curl http://ledger.internal/entries
                                   as planner, after the person delegated to it
  svc run --scope expenses --user ada --upstreams pep.yaml --isolate -- node agent.js
                                   in a network of its own, which leads to the enforcement point alone (Linux)
  svc run --scope expenses --user ada --upstreams pep.yaml --other-hosts tunnel -- node agent.js
                                   lets it call its model's host, which no upstream lists

The exit code is the command's own; 1 if that is 0 and the session could not be revoked; 2 if nothing was started.
`;

export const command = (): Command =>
  withControlPlane(new Command("run"))
    .argument("<command...>", "after --")
    .requiredOption("--scope <scope>", "the scope")
    .requiredOption("--user <sub>", "the person who consents")
    .requiredOption("--upstreams <file>", "the enforcement point's configuration")
    .option("--agent <name>", "the agent that acts (default: the scope's entry agent, if it has one alone)")
    .option("--data-class <classes>", "data classes to delegate (default: all)")
    .addOption(
      new Option("--mode <mode>", "mode of the enforcement point").choices(["enforce", "observe"]).default("enforce"),
    )
    .addOption(
      new Option(
        "--other-hosts <what>",
        "what calls to hosts that no upstream lists get (default: refuse while enforcing, tunnel while observing)",
      ).choices(["refuse", "tunnel"]),
    )
    .option("--isolate", "run the command in a network that leads to the enforcement point alone (Linux)")
    .option("--unlisted <file>", "write the calls that no route lists there, for svc upstreams suggest")
    .option("--json", "at the end, one line of JSON a decision on standard error")
    .addHelpText("after", examples)
    .passThroughOptions()
    .action(run);

async function run(command: readonly string[], flags: RunFlags): Promise<void> {
  withoutSecretsInEnvironment();
  // A terminal that is gone must not keep the session from being revoked.
  process.stderr.on("error", () => {});
  const { runAgent } = await import("../run/run-agent.ts");
  await runAgent(command, flags);
}
