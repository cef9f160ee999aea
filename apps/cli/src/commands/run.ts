import { writeFile } from "node:fs/promises";
import { withoutSettings } from "@svc/host";
import { Command, Option } from "commander";
import { type ControlPlane, type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { colors, progress, shown, verdict } from "../output.ts";
import { withoutSecretsInEnvironment } from "../run/clean-process.ts";
import { type LocalPep, type PepFlags, startLocalPep } from "../run/local-pep.ts";
import { catchSignals, exitCodeOf, runProgram } from "../run/program.ts";
import { revokeSession } from "../run/revoke-session.ts";
import { type Lending, lendSession } from "../run/session.ts";
import { fetchList } from "../upstreams/read-suggestions.ts";

const examples = `
The command gets the enforcement point as HTTP_PROXY and http_proxy, for the hosts of upstreams, and as a base address in
SVC_PEP_URL. Calls without a token use its session. Other calls, HTTPS and localhost among them, are not guarded.
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

The exit code is the command's own; 1 if that is 0 and the session could not be revoked.
`;

interface Flags extends ControlPlaneFlags, Lending, PepFlags {
  readonly unlisted?: string;
}

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
    .option(
      "--unlisted <file>",
      "in observe mode: write the calls that no route lists there, for svc upstreams suggest",
    )
    .option("--json", "at the end, one line of JSON a decision on standard error")
    .addHelpText("after", examples)
    .passThroughOptions()
    .action(run);

async function run(command: readonly string[], flags: Flags): Promise<void> {
  withoutSecretsInEnvironment();
  // A terminal that is gone must not keep the session from being revoked.
  process.stderr.on("error", () => {});
  const plane = openControlPlane(flags);
  const steps = progress({ isShown: !flags.json });
  const interruption = catchSignals();
  steps.show("consenting");
  const session = await lendSession(plane, flags);
  let pep: LocalPep | undefined;
  try {
    steps.show("starting the enforcement point");
    pep = await startLocalPep(plane.url, session, flags, interruption.signal);
    steps.done();
    process.exitCode = await runProgram(command, agentEnvironment(pep.url));
    if (flags.unlisted !== undefined) await writeFile(flags.unlisted, await fetchList(pep.adminUrl));
  } catch (cause) {
    if (!interruption.signal.aborted) throw cause;
    process.exitCode = exitCodeOf(interruption.signal.reason);
  } finally {
    await revokeSession(plane, session.session_id, "svc run ended");
    await pep?.stop();
    interruption.release();
  }
  await printDecisions(plane, session.session_id, flags.json === true);
}

const agentEnvironment = (pepUrl: string): NodeJS.ProcessEnv => ({
  ...withoutSettings(process.env),
  HTTP_PROXY: pepUrl,
  http_proxy: pepUrl,
  ...direct("NO_PROXY"),
  ...direct("no_proxy"),
  SVC_PEP_URL: pepUrl.replace("127.0.0.1", "localhost"),
});

/** The enforcement point serves path prefixes in origin form only, so its own address must not go through the proxy. */
const direct = (name: "NO_PROXY" | "no_proxy") => ({
  [name]: [process.env[name], "localhost"].filter((entry) => entry).join(","),
});

async function printDecisions(plane: ControlPlane, sessionId: string, json: boolean): Promise<void> {
  const rows = await plane.all("audit", (svc, page) => svc.audit.decisions({ sessionId, ...page }));
  const decisions = rows.toReversed();
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  if (json) {
    const { decisionRow, toWire } = await import("@svc/core");
    for (const row of decisions) say(JSON.stringify(toWire(decisionRow, row)));
    return;
  }
  const denied = decisions.filter(({ decision }) => decision === "deny");
  say(`\n${decisions.length} decisions, ${denied.length} denied; svc explain has the reasons:`);
  for (const row of denied) say(`  ${verdict(row)}  ${shown(row.target)}  ${colors.dim(row.actionId)}`);
}
