import { setTimeout as delay } from "node:timers/promises";
import { untilSignal } from "@svc/host/process-end";
import { Command } from "commander";
import { type ControlPlane, type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type DecisionFlags, toFilters, withDecisionFilters } from "../decision-filters.ts";
import { type ListFlags, withList } from "../formats.ts";
import { verdictColor, verdictText } from "../output.ts";
import { printList, printStream, type View } from "../print-list.ts";
import { followDecisions } from "../tail.ts";
import { wholeSessionId } from "../whole-id.ts";

const examples = `
Examples:
  svc decisions                                    the newest 50
  svc decisions --outcome deny --since 24h         denies of the last day
  svc decisions --observed --deny-reason TARGET_NOT_DECLARED
  svc decisions --follow --agent planner           new ones until Ctrl-C, a few seconds behind, each once
  svc decisions --json --limit 1000 | jq -r .target | sort | uniq -c
`;

interface Flags extends ControlPlaneFlags, DecisionFlags, ListFlags {
  readonly follow?: boolean;
}

export const command = (): Command =>
  withList(withDecisionFilters(withControlPlane(new Command("decisions"))), "one line a decision", 50)
    .option("--follow", "print new ones from now (or --since) on, oldest first, a few seconds behind")
    .addHelpText("after", examples)
    .action(decisions);

async function decisions({ follow, session, ...given }: Flags): Promise<void> {
  const plane = openControlPlane(given);
  const flags = { ...given, ...(session !== undefined && { session: await wholeSessionId(plane, session) }) };
  if (follow || flags.watch) return followAll(plane, flags);
  const query = toFilters(flags);
  const pageSize = Math.min(flags.limit, 200);
  const read = () => plane.rows("audit", (svc, page) => svc.audit.decisions({ ...query, ...page }), pageSize);
  await printList(view, flags, read);
}

async function followAll(plane: ControlPlane, flags: Omit<Flags, "follow">): Promise<void> {
  // Reads the control plane's clock, and fails early for a wrong bearer.
  await plane.call("audit", (svc) => svc.audit.decisions({ limit: 1 }));
  const { since, until: _until, ...filters } = toFilters(flags);
  const ended = untilSignal();
  const waited = async () => {
    if (await Promise.race([ended, delay(1_000).then(() => undefined)])) process.exit(0);
  };
  const fromMs = since === undefined ? plane.nowMs() : Date.parse(since);
  await printStream(view, flags, followDecisions(plane, filters, fromMs, waited));
}

const view: View<"decisionRow"> = {
  body: "decisionRow",
  none: "No decisions match.",
  nameOf: (row) => row.actionId,
  columns: [
    { title: "age", text: (row) => row.ts, kind: "time" },
    { title: "verdict", text: verdictText, paint: verdictColor },
    { title: "agent", text: (row) => row.actingAgent },
    { title: "target", text: (row) => row.target },
    { title: "data class", text: (row) => row.dataClass },
    { title: "hop", text: (row) => row.hop, isWide: true },
    { title: "taint", text: (row) => row.taint, isWide: true },
    { title: "policy", text: (row) => row.policyVersion, isWide: true },
    { title: "session", text: (row) => row.sessionId, kind: "id", isWide: true },
    { title: "action", text: (row) => row.actionId, kind: "id" },
  ],
};
