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
import { type Format, formatOf, isData, type ListFlags, withList } from "../formats.ts";
import { colors, type DataFormat, print, printData, printText, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { past } from "../times.ts";

const examples = `
Examples:
  svc would-block --since 7d                       calls that enforcement would block, like calls in one row
  svc would-block --scope expenses --emit-manifest ./proposed
                                                   the manifests that would admit what is open, for review
  svc manifest diff ./proposed/planner.json || svc manifest submit ./proposed/planner.json
  svc would-block --since 7d --fail-on-open        in CI, before the enforcement points enforce
`;

interface Flags extends ControlPlaneFlags, ListFlags {
  readonly scope?: string;
  readonly since?: string;
  readonly until?: string;
  readonly emitManifest?: string;
  readonly failOnOpen?: boolean;
}

export const command = (): Command =>
  withList(
    withControlPlane(new Command("would-block")),
    "one line a group, with the change where manifests are written",
  )
    .option("--scope <scope>", "of the sessions of one scope")
    .option("--since <time>", "from then on: a time, or a span such as 24h, 7d", past)
    .option("--until <time>", "before then", past)
    .option("--emit-manifest <folder>", "write the manifests that would admit what is open there; needs --scope")
    .option("--fail-on-open", "exit 1 while the newest policy denies any of them")
    .addHelpText("after", examples)
    .action(wouldBlock);

async function wouldBlock({ scope, since, until, emitManifest, failOnOpen, ...flags }: Flags): Promise<void> {
  if (emitManifest !== undefined && scope === undefined) {
    throw notTried("--emit-manifest needs --scope", "A manifest declares per scope: name one.");
  }
  const plane = openControlPlane(flags);
  const filters = { scope, since, until };
  const format = formatOf(flags);
  let groups: readonly WouldBlock[] = [];
  const read = async (): Promise<readonly WouldBlock[]> => {
    groups = await plane.all("audit", (svc, page) => svc.audit.wouldBlock({ ...filters, ...page }));
    if (failOnOpen && groups.some(isOpen)) process.exitCode = 1;
    return groups;
  };
  if (emitManifest !== undefined && scope !== undefined) {
    return propose(plane, scope, (await read()).filter(isOpen), emitManifest, format);
  }
  await printList(view, flags, async function* () {
    yield* [...(await read())].sort(openFirst);
  });
  if (isData(format) || format === "name") return;
  const isObserved = groups.length > 0 || (await isObserving(plane, { since, until }));
  print(left(groups.filter(isOpen).length, isObserved));
}

const isOpen = ({ now }: WouldBlock): boolean => now.status === "open";

const openFirst = (a: WouldBlock, b: WouldBlock): number => Number(isOpen(b)) - Number(isOpen(a)) || b.count - a.count;

const view: View<"wouldBlockGroup"> = {
  body: "wouldBlockGroup",
  none: "No call of observe mode was denied.",
  nameOf: ({ agent, target, dataClass, denyReason }) => [agent, target, dataClass, denyReason].join(" "),
  columns: [
    { title: "calls", text: ({ count }) => count },
    { title: "agent", text: ({ agent }) => agent },
    { title: "target", text: ({ target }) => target },
    { title: "data class", text: ({ dataClass }) => dataClass },
    { title: "reason", text: ({ denyReason }) => denyReason, paint: () => colors.yellow },
    {
      title: "now",
      text: (group) => (isOpen(group) ? openWords(group) : admittedWords(group)),
      paint: (group) => (isOpen(group) ? colors.yellow : colors.green),
    },
    { title: "first seen", text: ({ firstTs }) => firstTs, kind: "time", isWide: true },
    { title: "last seen", text: ({ lastTs }) => lastTs, kind: "time" },
  ],
};

/** With the reason of now where it is another. */
function openWords({ now, denyReason }: WouldBlock): string {
  const open = now.scopes.filter(({ sinceVersion }) => sinceVersion === null);
  if (open.length === 0) return "open: not decided";
  const reasons = new Set<string | null>(open.map((each) => each.denyReason ?? "not decided"));
  return reasons.size === 1 && reasons.has(denyReason) ? "open" : `open: ${[...reasons].join(", ")}`;
}

function admittedWords({ now: { scopes } }: WouldBlock): string {
  const since = scopes.map(({ scope, sinceVersion }) =>
    scopes.length === 1 ? `version ${sinceVersion}` : `version ${sinceVersion} of ${scope}`,
  );
  return `admitted since ${since.join(", ")}`;
}

/** The last line. Nothing is safe by a list for which nothing was observed. */
function left(open: number, isObserved: boolean): string {
  if (open > 0) return `${open} left: enforcing blocks them; --emit-manifest proposes what admits them.`;
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
  format: Format,
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
      if (isData(format)) await printItem({ ...toWire(wouldBlockGroup, group), change }, format);
      else if (change.kind === "manifest") report(colors.green("+"), change.summary, change.warnings);
      else report(colors.dim("-"), `${shown(agent)} → ${shown(group.target)}: ${group.denyReason}`, [change.advice]);
    }
  }
  await mkdir(folder, { recursive: true });
  for (const [agent, manifest] of proposed) {
    const file = join(folder, `${agent}.json`);
    await writeFile(file, `${JSON.stringify({ agent, manifest }, null, 2)}\n`);
    if (!isData(format)) print(`\nwrote ${file}; submit it with:\n  svc manifest submit ${file}`);
  }
  if (isData(format)) return;
  if (open.length === 0) print(nothingLeft);
  else if (proposed.size === 0) print("No manifest change admits any of these calls.");
}

/** A line of JSON, or an item of one YAML sequence. */
const printItem = (value: object, format: DataFormat): Promise<void> =>
  printData(format === "yaml" ? [value] : value, format);

const report = (mark: string, what: string, notes: readonly string[]): void => {
  printText(`${mark} ${shown(what)}`);
  for (const note of notes) printText(`    ${colors.yellow("!")} ${shown(note)}`);
};

async function acceptedManifest(plane: ControlPlane, scope: string, agent: string) {
  const reading = plane.call("admin", (svc) => svc.admin.manifest(scope, { agent }));
  // A person has none, and neither has a name that is no legal agent name.
  const accepted = await reading.catch(absentBy("scope_not_found", "invalid_request"));
  return accepted?.doc as AgentManifestDocument | undefined;
}
