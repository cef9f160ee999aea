import { setTimeout as delay } from "node:timers/promises";
import type { DecisionRow } from "@svc/client";
import { untilSignal } from "@svc/host/process-end";
import { Command, InvalidArgumentError } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type DecisionFlags, toFilters, withDecisionFilters } from "../decision-filters.ts";
import { colors, print, printBodies, shown, table, verdict } from "../output.ts";
import { followDecisions } from "../tail.ts";

const examples = `
Examples:
  svc decisions                                    the newest 50
  svc decisions --outcome deny --since 24h         denies of the last day
  svc decisions --observed --deny-reason TARGET_NOT_DECLARED
  svc decisions --follow --agent planner           new ones until Ctrl-C, a few seconds behind, each once
  svc decisions --json --limit 1000 | jq -r .target | sort | uniq -c
`;

interface Flags extends ControlPlaneFlags, DecisionFlags {
  readonly limit: number;
  readonly follow?: boolean;
}

export const command = (): Command =>
  withDecisionFilters(withControlPlane(new Command("decisions")))
    .option("--limit <n>", "maximum number", rowCount, 50)
    .option("--follow", "print new decisions from now (or --since) on, oldest first")
    .option("--json", "one line of JSON a decision")
    .addHelpText("after", examples)
    .action(decisions);

function rowCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,9}$/.test(text) || count < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return count;
}

async function decisions({ follow, json, limit, ...flags }: Flags): Promise<void> {
  if (follow) return followAll(flags, json === true);
  const plane = openControlPlane(flags);
  const query = toFilters(flags);
  const rows: DecisionRow[] = [];
  const matching = plane.rows("audit", (svc, page) => svc.audit.decisions({ ...query, ...page }), Math.min(limit, 200));
  for await (const row of matching) {
    rows.push(row);
    if (rows.length === limit) break;
  }
  if (json) return printBodies("decisionRow", rows);
  if (rows.length === 0) print("No decisions match.");
  else print(table(["time", "verdict", "agent", "target", "data class", "action"], rows.map(cells)));
}

async function followAll(flags: Omit<Flags, "limit">, json: boolean): Promise<void> {
  const plane = openControlPlane(flags);
  // Reads the control plane's clock, and fails early for a wrong bearer.
  await plane.call("audit", (svc) => svc.audit.decisions({ limit: 1 }));
  const { since, until: _until, ...filters } = toFilters(flags);
  const ended = untilSignal();
  const waited = async () => {
    if (await Promise.race([ended, delay(1_000).then(() => undefined)])) process.exit(0);
  };
  const fromMs = since === undefined ? plane.nowMs() : Date.parse(since);
  const rows = followDecisions(plane, filters, fromMs, waited);
  if (json) return printBodies("decisionRow", rows);
  for await (const row of rows) print(cells(row).join("  "));
}

const cells = (row: DecisionRow): readonly string[] => [
  colors.dim(row.ts),
  verdict(row),
  shown(row.actingAgent),
  shown(row.target),
  shown(row.dataClass),
  colors.dim(row.actionId),
];
