import pc from "picocolors";
import type { ControlPlane } from "../control-plane.ts";
import { fitText } from "../fit-text.ts";
import { colors, shown, verdict } from "../output.ts";
import type { Passed } from "./passed-calls.ts";

const write = (line: string): void => void process.stderr.write(`${fitText(line, process.stderr.columns)}\n`);

/** Decisions about the agent's calls, oldest first: hop 1 is its own delegation. */
async function decisionsOf(plane: ControlPlane, sessionId: string) {
  const rows = await plane.all("audit", (svc, page) => svc.audit.decisions({ sessionId, ...page }));
  return rows.toReversed();
}

/** Each decision of the session as a line of JSON on standard error. */
export async function printDecisionRows(plane: ControlPlane, sessionId: string): Promise<void> {
  const { decisionRow, toWire } = await import("@svc/core");
  for (const row of await decisionsOf(plane, sessionId))
    process.stderr.write(`${JSON.stringify(toWire(decisionRow, row))}\n`);
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
  if (allowed + denied.length === 0) printUnguarded(passed);
}

function printPassed({ unlisted, hosts }: Passed): void {
  const [unused, others] = [hosts.filter(isUnused), hosts.filter((each) => !isUnused(each))];
  printCounts(
    (count) => `${count} that no route lists; svc upstreams suggest writes routes (--unlisted FILE):`,
    unlisted,
    ({ method, path, upstream, cause }) =>
      `${shown(method)} ${shown(path)}  ${shown(upstream)}${cause === "unresolvable_call" ? "" : `  ${cause}`}`,
  );
  printCounts(
    (count) => `${count} to hosts that no upstream lists, without a decision:`,
    others,
    ({ host, outcome }) => `${outcome === "refused" ? outcome : colors.yellow(outcome)}  ${shown(host)}`,
  );
  printCounts(
    (count) =>
      `${count} given up by clients that do not trust the run's authority. Have them trust the file in SSL_CERT_FILE:`,
    unused,
    ({ host }) => shown(host),
  );
}

type Counted = { readonly count: number };

const isUnused = ({ outcome }: Passed["hosts"][number]): boolean => outcome === "unused";

/** The most frequent come first. */
const maxLines = 20;

function printCounts<Row extends Counted>(
  title: (count: string) => string,
  rows: readonly Row[],
  line: (row: Row) => string,
): void {
  if (rows.length === 0) return;
  write(title(counted(sum(rows), "call")));
  for (const row of rows.slice(0, maxLines)) write(`  ${line(row)}  ${row.count}`);
  if (rows.length > maxLines) write(`  and ${rows.length - maxLines} more`);
}

/** Red where standard error is a terminal, wherever the results go. */
const { red } = pc.createColors(process.stderr.isTTY === true && !process.env.NO_COLOR);

/** The reader must learn that the run proves nothing. */
function printUnguarded(passed: Passed | undefined): void {
  write(red("No call of the command was guarded."));
  const others = passed?.hosts.filter((each) => !isUnused(each)) ?? [];
  if (others.length > 0 || (passed?.unlisted.length ?? 0) > 0) {
    write("Add the hosts and routes above to the upstreams file, if these are its tools.");
  } else if ((passed?.hosts.length ?? 0) === 0) {
    write(
      "If it made calls, its HTTP client ignores the proxy variables: call the address in SVC_PEP_URL, update the client " +
        "(Node 22.21 or 24.5), or run with --isolate, where such calls fail.",
    );
  }
}

const sum = (counts: readonly Counted[]): number => counts.reduce((all, { count }) => all + count, 0);

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
