import { setTimeout as delay } from "node:timers/promises";
import type { DecisionRow } from "@svc/client";
import { untilSignal } from "@svc/host/process-end";
import { Command, Option } from "commander";
import { ageOf } from "../ages.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printData, printTable, shown } from "../output.ts";
import { decisionsWithin, horizonMs } from "../tail.ts";
import { spanMs } from "../times.ts";

const examples = `
Examples:
  svc top                          targets by calls of the last minute, again every two seconds until Ctrl-C
  svc top --span 15m --by agent
  svc top --once --json | jq -r 'select(.denied > 0).name'
`;

interface Flags extends ControlPlaneFlags, FormatFlags {
  readonly span: number;
  readonly by: "target" | "agent";
  readonly once?: boolean;
}

export const command = (): Command =>
  withFormat(withControlPlane(new Command("top")), "one line a group: {name, calls, allowed, denied, would_deny, last}")
    .addOption(new Option("--span <span>", "how far back").argParser(spanMs).default(60_000, "1m"))
    .addOption(new Option("--by <what>", "group by").choices(["target", "agent"]).default("target"))
    .option("--once", "print once, as where the output is no terminal")
    .addHelpText("after", examples)
    .action(top);

const everyMs = 2_000;

async function top({ span, by, once = !process.stdout.isTTY, ...flags }: Flags): Promise<void> {
  const plane = openControlPlane(flags);
  // Reads the control plane's clock, and fails early for a wrong bearer.
  await plane.call("audit", (svc) => svc.audit.decisions({ limit: 1 }));
  const ended = once ? undefined : untilSignal();
  let rows: readonly DecisionRow[] = [];
  let readMs = plane.nowMs() - horizonMs - span;
  for (;;) {
    const untilMs = plane.nowMs() - horizonMs;
    const since = new Date(untilMs - span).toISOString();
    rows = [...rows, ...(await decisionsWithin(plane, {}, readMs, untilMs))].filter(({ ts }) => ts >= since);
    readMs = untilMs;
    await printGroups(groupsOf(rows, by), by, flags, ended !== undefined);
    if (ended === undefined || (await Promise.race([ended, delay(everyMs)]))) break;
  }
  if (ended !== undefined) process.exit(0);
}

interface Group {
  readonly name: string;
  calls: number;
  allowed: number;
  denied: number;
  would_deny: number;
  last: string;
}

/** Most calls first. @param rows oldest first */
function groupsOf(rows: readonly DecisionRow[], by: Flags["by"]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const { target, actingAgent, decision, enforced, ts } of rows) {
    const name = by === "target" ? target : actingAgent;
    const group = groups.get(name) ?? { name, calls: 0, allowed: 0, denied: 0, would_deny: 0, last: ts };
    group.calls += 1;
    group[decision === "allow" ? "allowed" : enforced ? "denied" : "would_deny"] += 1;
    group.last = ts;
    groups.set(name, group);
  }
  return [...groups.values()].sort((one, other) => other.calls - one.calls || (one.name < other.name ? -1 : 1));
}

/** From the top of an empty screen. */
const clear = "\u001b[H\u001b[2J";

async function printGroups(groups: readonly Group[], by: string, flags: FormatFlags, isLive: boolean): Promise<void> {
  const format = formatOf(flags);
  if (isData(format)) {
    for (const group of groups) await printData(group, format);
    return;
  }
  if (isLive) process.stdout.write(clear);
  if (groups.length === 0) return print("No calls.");
  const counted = (count: number, paint: (text: string) => string) => ({
    text: String(count),
    paint: count === 0 ? colors.dim : paint,
  });
  const rows = groups.map(({ name, calls, allowed, denied, would_deny, last }) => [
    { text: shown(name) },
    { text: String(calls) },
    counted(allowed, colors.green),
    counted(denied, colors.red),
    counted(would_deny, colors.yellow),
    { text: ageOf(last), paint: colors.dim },
  ]);
  const fitting = isLive ? rows.slice(0, process.stdout.rows - 2) : rows;
  await printTable([by, "calls", "allowed", "denied", "would deny", "last"], fitting);
}
