import type { ChainHop, ChainRead, ExplanationRead } from "@svc/client";
import { Command } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printData, printText, shown, verdict } from "../output.ts";
import { wholeActionId } from "../whole-id.ts";

const examples = `
Examples:
  svc explain 0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d
  svc explain --json "$ACTION_ID" | jq .explanation.remedy
  svc decisions --outcome deny --json | jq -r .action_id | head -1 | xargs svc explain
`;

export const command = (): Command =>
  withFormat(withControlPlane(new Command("explain")), "one line: {explanation, chain}")
    .argument("<action_id>", "of the decision, or the end of it; enforcement points return it with every denied call")
    .addHelpText("after", examples)
    .action(explain);

async function explain(id: string, flags: ControlPlaneFlags & FormatFlags): Promise<void> {
  const plane = openControlPlane(flags);
  const actionId = await wholeActionId(plane, id);
  const [explanation, chain] = await plane.call("audit", ({ audit }) =>
    Promise.all([audit.explanation(actionId), audit.chain(actionId)]),
  );
  const format = formatOf(flags);
  if (isData(format)) {
    const { chainRead, explanationRead, toWire } = await import("@svc/core");
    return printData({ explanation: toWire(explanationRead, explanation), chain: toWire(chainRead, chain) }, format);
  }
  const action = chain.hops.find((hop) => hop.actionId === explanation.actionId);
  printText(action === undefined ? explanation.decision : headline(action));
  print("");
  for (const line of checkLines(explanation)) print(line);
  if (explanation.remedy !== null) printText(`\n${colors.bold("To admit it")}\n  ${shown(explanation.remedy)}`);
  print(`\n${colors.bold("Chain")}`);
  for (const line of chainLines(chain)) print(line);
}

const headline = (hop: ChainHop): string =>
  `${verdict(hop)}  ${shown(hop.actingAgent)} → ${shown(hop.target)} for ${shown(hop.dataClass)}  ${colors.dim(hop.ts)}`;

/** The first failed check decides. */
function checkLines({ checks }: ExplanationRead): readonly string[] {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const decisive = checks.findIndex(({ passed }) => !passed);
  return checks.map(({ check, passed, facts }, index) => {
    const mark = passed ? colors.green("✓") : colors.red("✗");
    const name = index === decisive ? colors.red(check.padEnd(width)) : check.padEnd(width);
    return `  ${mark} ${name}  ${colors.dim(shown(JSON.stringify(facts)))}`;
  });
}

/** The person at the root, each hop below the one before it. */
function chainLines({ root, hops, break: broken }: ChainRead): readonly string[] {
  const person = `${shown(root.userSub)} ${colors.dim(`consented to "${shown(root.scope)}" ${root.consentedAt}`)}`;
  const branches = [...hops]
    .sort((a, b) => a.hop - b.hop)
    .map((hop, depth) => `${"   ".repeat(depth)}└─ ${hop.hop} ${shown(hop.target)}  ${verdict(hop)}`);
  const lines = [person, ...branches].map((line) => `  ${line}`);
  return broken === null
    ? lines
    : [...lines, colors.red(`  the chain breaks at hop ${broken.atHop}: ${broken.reason}`)];
}
