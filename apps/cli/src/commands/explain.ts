import { Command } from "commander";
import type { ChainHop, ChainRead, Explanation } from "../audit-rows.ts";
import { colors } from "../colors.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { print, printJson, shown } from "../output.ts";
import { verdict } from "../verdict.ts";

const examples = `
Examples:
  svc explain 0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d
  svc explain --json "$ACTION_ID" | jq .explanation.remedy
  svc decisions --outcome deny --json | jq -r .action_id | head -1 | xargs svc explain
`;

export const explainCommand = (): Command =>
  withControlPlane(new Command("explain"))
    .description("Why a call was allowed or denied, what would have admitted it, and its chain back to the human.")
    .argument("<action_id>", "of the decision; enforcement points answer it with every refusal")
    .option("--json", "one line: {explanation, chain}")
    .addHelpText("after", examples)
    .action(explain);

async function explain(actionId: string, { json, ...flags }: ControlPlaneFlags & { json?: boolean }): Promise<void> {
  const plane = openControlPlane(flags);
  const path = `/v1/audit/actions/${encodeURIComponent(actionId)}`;
  const [explanation, chain] = await Promise.all([
    plane.ask<Explanation>("audit", `${path}/explanation`),
    plane.ask<ChainRead>("audit", `${path}/chain`),
  ]);
  if (json) return printJson({ explanation, chain });
  const action = chain.hops.find((hop) => hop.action_id === explanation.action_id);
  print(action === undefined ? explanation.decision : headline(action));
  print("");
  for (const line of checkLines(explanation)) print(line);
  if (explanation.remedy !== null) print(`\n${colors.bold("What would admit it")}\n  ${shown(explanation.remedy)}`);
  print(`\n${colors.bold("Chain")}`);
  for (const line of chainLines(chain)) print(line);
}

const headline = (hop: ChainHop): string =>
  `${verdict(hop)}  ${shown(hop.acting_agent)} → ${shown(hop.target)} for ${shown(hop.data_class)}  ${colors.dim(hop.ts)}`;

/** The first check that fails decides; those after it were not what decided. */
function checkLines({ checks }: Explanation): readonly string[] {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const decisive = checks.findIndex(({ passed }) => !passed);
  return checks.map(({ check, passed, facts }, index) => {
    const mark = passed ? colors.green("✓") : colors.red("✗");
    const name = index === decisive ? colors.red(check.padEnd(width)) : check.padEnd(width);
    return `  ${mark} ${name}  ${colors.dim(shown(JSON.stringify(facts)))}`;
  });
}

/** The human at the root, each hop a branch below what it came from. */
function chainLines({ root, hops, break: broken }: ChainRead): readonly string[] {
  const human = `${shown(root.user_sub)} ${colors.dim(`consented to "${shown(root.scope)}" ${root.consented_at}`)}`;
  const branches = [...hops]
    .sort((a, b) => a.hop - b.hop)
    .map((hop, depth) => `${"   ".repeat(depth)}└─ ${hop.hop} ${shown(hop.target)}  ${verdict(hop)}`);
  const lines = [human, ...branches].map((line) => `  ${line}`);
  return broken === null
    ? lines
    : [...lines, colors.red(`  the chain breaks at hop ${broken.at_hop}: ${broken.reason}`)];
}
