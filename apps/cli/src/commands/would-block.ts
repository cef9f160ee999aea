import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WouldBlock } from "@svc/client";
import type { AgentManifestDocument } from "@svc/core";
import { Command } from "commander";
import {
  absentBy,
  type ControlPlane,
  type ControlPlaneFlags,
  openControlPlane,
  withControlPlane,
} from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { colors, print, printBodies, printJson, shown, table } from "../output.ts";
import { past } from "../times.ts";

const examples = `
Examples:
  svc would-block --since 7d                       calls that enforcement would block, like calls in one row
  svc would-block --scope expenses --emit-manifest ./proposed
                                                   the manifests that would admit what is open, for review
  svc manifest diff ./proposed/planner.json || svc manifest submit ./proposed/planner.json
  svc would-block --since 7d --fail-on-open        in CI, before the enforcement points enforce
`;

interface Flags extends ControlPlaneFlags {
  readonly scope?: string;
  readonly since?: string;
  readonly until?: string;
  readonly emitManifest?: string;
  readonly failOnOpen?: boolean;
}

export const command = (): Command =>
  withControlPlane(new Command("would-block"))
    .option("--scope <scope>", "of the sessions of one scope")
    .option("--since <time>", "from then on: a time, or a span such as 24h, 7d", past)
    .option("--until <time>", "before then", past)
    .option("--emit-manifest <folder>", "write the manifests that would admit what is open there; needs --scope")
    .option("--fail-on-open", "exit 1 while the newest policy denies any of them")
    .option("--json", "one line a group, with its proposed change where manifests are written")
    .addHelpText("after", examples)
    .action(wouldBlock);

async function wouldBlock({ scope, since, until, emitManifest, failOnOpen, json, ...flags }: Flags): Promise<void> {
  if (emitManifest !== undefined && scope === undefined) {
    throw notTried("--emit-manifest needs --scope", "A manifest declares per scope: name one.");
  }
  const plane = openControlPlane(flags);
  const filters = { scope, since, until };
  const groups = await plane.all("audit", (svc, page) => svc.audit.wouldBlock({ ...filters, ...page }));
  const open = groups.filter(isOpen);
  if (failOnOpen && open.length > 0) process.exitCode = 1;
  if (emitManifest !== undefined && scope !== undefined) return propose(plane, scope, open, emitManifest, json);
  if (json) return printBodies("wouldBlockGroup", groups);
  if (groups.length > 0) print(table(head, [...groups].sort(openFirst).map(cells)));
  print(left(open.length, groups.length > 0 || (await isObserving(plane, { since, until }))));
}

const isOpen = ({ now }: WouldBlock): boolean => now.status === "open";

const openFirst = (a: WouldBlock, b: WouldBlock): number => Number(isOpen(b)) - Number(isOpen(a)) || b.count - a.count;

const head = ["calls", "agent", "target", "data class", "reason", "now", "first seen", "last seen"];

const cells = (group: WouldBlock): readonly string[] => [
  String(group.count),
  shown(group.agent),
  shown(group.target),
  shown(group.dataClass),
  colors.yellow(group.denyReason),
  isOpen(group) ? colors.yellow(openWords(group)) : colors.green(admittedWords(group)),
  colors.dim(group.firstTs),
  colors.dim(group.lastTs),
];

/** With the reason of now where it is another. */
function openWords({ now, denyReason }: WouldBlock): string {
  const open = now.scopes.filter(({ sinceVersion }) => sinceVersion === null);
  if (open.length === 0) return "open: not decided";
  const reasons = new Set<string | null>(open.map((each) => each.denyReason ?? "not decided"));
  return reasons.size === 1 && reasons.has(denyReason) ? "open" : `open: ${[...reasons].join(", ")}`;
}

function admittedWords({ now: { scopes } }: WouldBlock): string {
  const since = scopes.map(({ scope, sinceVersion }) =>
    scopes.length === 1 ? `version ${sinceVersion}` : `version ${sinceVersion} of ${shown(scope)}`,
  );
  return `admitted since ${since.join(", ")}`;
}

/** The last line. Nothing is safe by a list for which nothing was observed. */
function left(open: number, isObserved: boolean): string {
  if (open > 0) return `${open} left: enforcing blocks them. --emit-manifest proposes manifests for those to allow.`;
  return isObserved ? nothingLeft : "0 left, but no call was observed: enforcement points need SVC_PEP_MODE=observe.";
}

const nothingLeft = "0 left: safe to enforce";

async function isObserving(plane: ControlPlane, span: Record<"since" | "until", string | undefined>): Promise<boolean> {
  const { data } = await plane.call("audit", (svc) => svc.audit.decisions({ ...span, enforced: false, limit: 1 }));
  return data.length > 0;
}

/** One file for each agent, each change on top of the one before. For calls that no manifest admits, prints the advice. */
async function propose(
  plane: ControlPlane,
  scope: string,
  open: readonly WouldBlock[],
  folder: string,
  json: boolean | undefined,
): Promise<void> {
  const { admittingChanges, openReason, toWire, wouldBlockGroup } = await import("@svc/core");
  const proposed = new Map<string, AgentManifestDocument>();
  for (const [agent, own] of Map.groupBy(open, (group) => group.agent)) {
    const calls = own.map((group) => ({ ...group, denyReason: openReason(group, scope) ?? "TARGET_NOT_DECLARED" }));
    const changes = admittingChanges(calls, scope, await acceptedManifest(plane, scope, agent));
    for (const [n, group] of calls.entries()) {
      const change = changes[n];
      if (change === undefined) continue;
      if (change.kind === "manifest") proposed.set(agent, change.manifest);
      if (json) printJson({ ...toWire(wouldBlockGroup, group), change });
      else if (change.kind === "manifest") report(colors.green("+"), change.summary, change.warnings);
      else report(colors.dim("-"), `${shown(agent)} → ${shown(group.target)}: ${group.denyReason}`, [change.advice]);
    }
  }
  await mkdir(folder, { recursive: true });
  for (const [agent, manifest] of proposed) {
    const file = join(folder, `${agent}.json`);
    await writeFile(file, `${JSON.stringify({ agent, manifest }, null, 2)}\n`);
    if (!json) print(`\nwrote ${file}; submit it with: svc manifest submit ${file}`);
  }
  if (json) return;
  if (open.length === 0) print(nothingLeft);
  else if (proposed.size === 0) print("No manifest change admits any of these calls.");
}

const report = (mark: string, what: string, notes: readonly string[]): void => {
  print(`${mark} ${shown(what)}`);
  for (const note of notes) print(`    ${colors.yellow("!")} ${shown(note)}`);
};

async function acceptedManifest(plane: ControlPlane, scope: string, agent: string) {
  const reading = plane.call("admin", (svc) => svc.admin.manifest(scope, { agent }));
  // A person has none, and neither has a name that is no legal agent name.
  const accepted = await reading.catch(absentBy("scope_not_found", "invalid_request"));
  return accepted?.doc as AgentManifestDocument | undefined;
}
