import type { LintedRules } from "@svc/core";
import { colors, shown } from "../output.ts";

type Finding = LintedRules["findings"][number];

const texts: { readonly [K in Finding["kind"]]: (finding: Finding) => string } = {
  unsatisfiable: ({ rule, data_class }) =>
    `no call satisfies rule ${rule} (${data_class}): its conditions exclude each other`,
  subsumed: ({ rule, data_class, by, by_data_class }) =>
    `rule ${rule} (${data_class}) never decides: rule ${by} (${by_data_class}) holds for every call that it holds for`,
  overlap: ({ rule, data_class, by, by_data_class }) =>
    `a call can satisfy rule ${by} (${by_data_class}) and rule ${rule} (${data_class}): rule ${by} decides`,
};

export const isDead = ({ kind }: Finding): boolean => kind !== "overlap";

/** A line for each finding, and one for their number. */
export function lintedText({ rules, findings }: LintedRules): string {
  const lines = findings.map((finding) => {
    const mark = isDead(finding) ? colors.red("dead") : colors.yellow("note");
    return `${mark} ${shown(`${finding.upstream}, ${finding.at}: ${texts[finding.kind](finding)}`)}`;
  });
  const dead = findings.filter(isDead).length;
  return [...lines, `${rules} rules, ${dead} dead, ${findings.length - dead} overlaps`].join("\n");
}
