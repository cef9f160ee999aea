import { Command } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printBody, printText, shown } from "../output.ts";

const examples = `
By the newest policy of each scope that the agent acts in, in a new session, without taint, under the denials of this moment.
Nothing is recorded. A session that runs keeps the policy that it pinned.

Examples:
  svc can-i planner http:ledger/read_entry
                                   yes or no in each scope, for each data class that it declares; exit 1 if all are no
  svc can-i planner http:ledger/read_entry finance.entries --scope expenses
  svc can-i planner http:ledger/read_entry --json | jq -r '.verdicts[].deny_reason'
`;

export const command = (): Command =>
  withFormat(withControlPlane(new Command("can-i")), "one line: {agent, target, verdicts}")
    .argument("<agent>", "that calls")
    .argument("<target>", "a tool, or an agent to delegate to")
    .argument("[class]", "the data class (default: each that it declares for the target)")
    .option("--scope <scope>", "in one scope")
    .addHelpText("after", examples)
    .action(canI);

type Flags = ControlPlaneFlags & FormatFlags & { readonly scope?: string };

async function canI(agent: string, target: string, dataClass: string | undefined, flags: Flags): Promise<void> {
  const query = { agent, target, dataClass, scope: flags.scope };
  const found = await openControlPlane(flags).call("audit", (svc) => svc.audit.verdicts(query));
  const { verdicts } = found;
  if (!verdicts.some(({ decision }) => decision === "allow")) process.exitCode = 1;
  const format = formatOf(flags);
  if (isData(format)) return printBody("agentVerdicts", found, format);
  if (verdicts.length === 0) {
    const where = flags.scope === undefined ? "in no scope" : `not in scope ${flags.scope}`;
    return print(`${colors.red("no")}  ${shown(`${agent} acts ${where}: svc agents show ${agent}`)}`);
  }
  for (const { scope, decision, denyReason, dataClass: of, privileged, remedy } of verdicts) {
    const where = shown(denyReason === "TARGET_NOT_DECLARED" ? `in ${scope}` : `in ${scope} for ${of}`);
    if (decision === "allow") print(`${colors.green("yes")} ${where}${privileged ? ", privileged" : ""}`);
    else printText(`${colors.red("no")}  ${where}: ${denyReason}\n    ${shown(remedy ?? "")}`);
  }
}
