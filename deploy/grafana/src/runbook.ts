import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface AlertRule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const alerts = parse(readFileSync(new URL("../../prometheus/alerts.yaml", import.meta.url), "utf8")) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
};

/** What to do at each alert of these groups, in Markdown. @throws for a group that does not exist */
export const runbookOf = (groups: readonly string[]): string => groups.flatMap(rulesOf).map(entryOf).join("\n\n");

function rulesOf(name: string): readonly AlertRule[] {
  const group = alerts.groups.find((each) => each.name === name);
  if (group === undefined) throw new Error(`deploy/prometheus/alerts.yaml has no group ${name}`);
  return group.rules;
}

const entryOf = ({ alert, labels, annotations }: AlertRule): string =>
  `**${alert}** (${labels.severity}): ${annotations.summary}. ${annotations.runbook}`;
