import { readFile, writeFile } from "node:fs/promises";
import { freePort } from "@svc/host/child-program";
import { type ControlPlaneFlags, openControlPlane } from "../control-plane.ts";
import { progress } from "../output.ts";
import { fetchList } from "../upstreams/read-suggestions.ts";
import { agentEnvironment } from "./agent-environment.ts";
import { checkedHosts } from "./checked-upstreams.ts";
import { requireEntryAgent } from "./entry-agent.ts";
import { requireCommand } from "./found-command.ts";
import { type Isolation, openIsolation } from "./isolation.ts";
import { type LocalPep, type PepFlags, startLocalPep } from "./local-pep.ts";
import { type Passed, passedCalls } from "./passed-calls.ts";
import { catchSignals, exitCodeOf, runProgram } from "./program.ts";
import { revokeSession } from "./revoke-session.ts";
import { type Lending, lendSession } from "./session.ts";
import { printDecisionRows, printSummary } from "./summary.ts";
import { trustIn } from "./trust.ts";

export interface RunFlags extends ControlPlaneFlags, Lending, PepFlags {
  readonly unlisted?: string;
  readonly otherHosts?: "refuse" | "tunnel";
  readonly isolate?: boolean;
}

/** Runs a command as an agent behind an enforcement point of its own. Nothing is consented to before all else is in order. */
export async function runAgent(command: readonly string[], flags: RunFlags): Promise<void> {
  requireCommand(command[0] ?? "");
  const plane = openControlPlane(flags);
  const steps = progress({ isShown: !flags.json });
  const interruption = catchSignals();
  const { signal } = interruption;
  let isolation: Isolation | undefined;
  let sessionId: string | undefined;
  let pep: LocalPep | undefined;
  let passed: Passed | undefined;
  try {
    steps.show("checking");
    const checks = [checkedHosts(flags.upstreams, plane.url), requireEntryAgent(plane, flags)] as const;
    const [hosts, agent] = await Promise.all(checks);
    const port = await freePort();
    isolation = flags.isolate ? await openIsolation(port) : undefined;
    signal.throwIfAborted();
    steps.show("consenting");
    const session = await lendSession(plane, { ...flags, agent });
    sessionId = session.session_id;
    steps.show("starting the enforcement point");
    pep = await startLocalPep(plane.url, session, flags, signal, { port, otherHosts: otherHostsOf(flags) });
    const trust = await trustIn(pep.folder, await readFile(pep.caFile, "utf8"), process.env);
    signal.throwIfAborted();
    steps.done();
    const env = agentEnvironment(process.env, { pepUrl: pep.url, trust, hosts });
    process.exitCode = await runProgram(isolation?.enter(command) ?? command, env);
    passed = await passedCalls(pep.adminUrl).catch(() => undefined);
    if (flags.unlisted !== undefined) await writeFile(flags.unlisted, await fetchList(pep.adminUrl));
  } catch (cause) {
    if (!signal.aborted) throw cause;
    process.exitCode = exitCodeOf(signal.reason);
  } finally {
    if (sessionId !== undefined) await revokeSession(plane, sessionId, "svc run ended");
    await pep?.stop();
    await isolation?.stop();
    interruption.release();
  }
  if (sessionId === undefined) return;
  if (flags.json) await printDecisionRows(plane, sessionId);
  else await printSummary(plane, sessionId, passed);
}

/** Observing stops nothing that the command could do without it. */
const otherHostsOf = ({ otherHosts, mode }: RunFlags): "refuse" | "tunnel" =>
  otherHosts ?? (mode === "observe" ? "tunnel" : "refuse");
