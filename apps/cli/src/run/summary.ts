import type { ControlPlane } from "../control-plane.ts";
import { colors, shown, verdict } from "../output.ts";
import type { Passed } from "./passed-calls.ts";

const write = (line: string): void => void process.stderr.write(`${line}\n`);

/** Decisions about the agent's calls, oldest first: hop 1 is its own delegation. */
async function decisionsOf(plane: ControlPlane, sessionId: string) {
  const rows = await plane.all("audit", (svc, page) => svc.audit.decisions({ sessionId, ...page }));
  return rows.toReversed();
}

/** Each decision of the session as a line of JSON on standard error. */
export async function printDecisionRows(plane: ControlPlane, sessionId: string): Promise<void> {
  const { decisionRow, toWire } = await import("@svc/core");
  for (const row of await decisionsOf(plane, sessionId)) write(JSON.stringify(toWire(decisionRow, row)));
}

/** What the command did, on standard error; in red where nothing was guarded. @param passed undefined: not known */
export async function printSummary(plane: ControlPlane, sessionId: string, passed: Passed | undefined): Promise<void> {
  const calls = (await decisionsOf(plane, sessionId)).filter(({ hop }) => hop > 1);
  const denied = calls.filter(({ decision }) => decision === "deny");
  const allowed = passed?.allowed ?? calls.length - denied.length;
  const named = denied.length > 0 ? "; svc explain has the reasons:" : "";
  write(`\n${counted(allowed + denied.length, "call")} guarded: ${allowed} allowed, ${denied.length} denied${named}`);
  for (const row of denied) write(`  ${verdict(row)}  ${shown(row.target)}  ${colors.dim(row.actionId)}`);
  if (passed) printPassed(passed);
  if (allowed + denied.length === 0) warnOfNone(passed);
}

function printPassed({ unlisted, hosts }: Passed): void {
  if (unlisted.length > 0) {
    write(
      `${counted(sum(unlisted), "call")} that no route lists; svc upstreams suggest writes routes (--unlisted FILE):`,
    );
    for (const { method, path, upstream, count } of unlisted) {
      write(`  ${shown(method)} ${shown(path)}  ${shown(upstream)}  ${count}`);
    }
  }
  if (hosts.length === 0) return;
  write(`${counted(sum(hosts), "call")} to hosts that no upstream lists, without a decision:`);
  for (const { host, outcome, count } of hosts) {
    write(`  ${outcome === "refused" ? outcome : colors.yellow(outcome)}  ${shown(host)}  ${count}`);
  }
}

/** The reader must learn that the run proves nothing. */
function warnOfNone(passed: Passed | undefined): void {
  write(colors.red("No call of the command was guarded."));
  const isSeen = passed !== undefined && passed.hosts.length + passed.unlisted.length > 0;
  const remedy = isSeen
    ? "Add the hosts and routes above to the upstreams file, if these are its tools."
    : "If it made calls, its HTTP client ignores the proxy variables: call the address in SVC_PEP_URL, update the client\n(Node 22.21 or 24.5), or run with --isolate, where such calls fail.";
  write(remedy);
}

const sum = (counts: readonly { readonly count: number }[]): number =>
  counts.reduce((all, { count }) => all + count, 0);

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
