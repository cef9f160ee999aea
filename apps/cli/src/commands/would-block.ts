import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WouldBlock } from "@svc/client";
import type { AgentManifestDocument, DenyReason } from "@svc/core";
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
                                                   the manifests that would admit them, for review
  svc manifest diff ./proposed/planner.json || svc manifest submit ./proposed/planner.json
`;

interface Flags extends ControlPlaneFlags {
  readonly scope?: string;
  readonly since?: string;
  readonly until?: string;
  readonly emitManifest?: string;
}

export const command = (): Command =>
  withControlPlane(new Command("would-block"))
    .option("--scope <scope>", "of the sessions of one scope")
    .option("--since <time>", "from then on: a time, or a span such as 24h, 7d", past)
    .option("--until <time>", "before then", past)
    .option("--emit-manifest <folder>", "write the manifests that would admit them there; needs --scope")
    .option("--json", "one line a group, with its proposed change where manifests are written")
    .addHelpText("after", examples)
    .action(wouldBlock);

async function wouldBlock({ scope, since, until, emitManifest, json, ...flags }: Flags): Promise<void> {
  if (emitManifest !== undefined && scope === undefined) {
    throw notTried("--emit-manifest needs --scope", "A manifest declares per scope: name one.");
  }
  const plane = openControlPlane(flags);
  const filters = { scope, since, until };
  const groups = await plane.all("audit", (svc, page) => svc.audit.wouldBlock({ ...filters, ...page }));
  if (emitManifest !== undefined && scope !== undefined) return propose(plane, scope, groups, emitManifest, json);
  if (json) return printBodies("wouldBlockGroup", groups);
  if (groups.length === 0) return print("0 to review: enforcement would block no call.");
  const head = ["calls", "agent", "target", "data class", "reason", "first seen", "last seen"];
  print(table(head, [...groups].sort((a, b) => b.count - a.count).map(cells)));
}

const cells = (group: WouldBlock): readonly string[] => [
  String(group.count),
  shown(group.agent),
  shown(group.target),
  shown(group.dataClass),
  colors.yellow(group.denyReason),
  colors.dim(group.firstTs),
  colors.dim(group.lastTs),
];

/** One file for each agent, each change on top of the one before. For calls that no manifest admits, prints the advice. */
async function propose(
  plane: ControlPlane,
  scope: string,
  groups: readonly WouldBlock[],
  folder: string,
  json: boolean | undefined,
): Promise<void> {
  const { admittingChange, toWire, wouldBlockGroup } = await import("@svc/core");
  const proposed = new Map<string, AgentManifestDocument | undefined>();
  const changed = new Set<string>();
  for (const group of groups) {
    const { agent } = group;
    const denyReason = group.denyReason as DenyReason;
    if (!proposed.has(agent)) proposed.set(agent, await acceptedManifest(plane, scope, agent));
    const change = admittingChange({ ...group, denyReason }, scope, proposed.get(agent));
    if (change.kind === "manifest") {
      proposed.set(agent, change.manifest);
      changed.add(agent);
    }
    if (json) printJson({ ...toWire(wouldBlockGroup, group), change });
    else if (change.kind === "manifest") report(colors.green("+"), change.summary, change.warnings);
    else report(colors.dim("-"), `${shown(agent)} → ${shown(group.target)}: ${group.denyReason}`, [change.advice]);
  }
  await mkdir(folder, { recursive: true });
  for (const agent of changed) {
    const file = join(folder, `${agent}.json`);
    await writeFile(file, `${JSON.stringify({ agent, manifest: proposed.get(agent) }, null, 2)}\n`);
    if (!json) print(`\nwrote ${file}; submit it with: svc manifest submit ${file}`);
  }
  if (!json && changed.size === 0) print("No manifest change admits any of these calls.");
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
