import { Command } from "commander";
import { checkDeployment, type Finding, type Level } from "../check/deployment.ts";
import { checkSettings } from "../check/settings.ts";
import { colors } from "../colors.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { print, printJson } from "../output.ts";
import { progress } from "../progress.ts";

const examples = `
Examples:
  svc check                        every finding with a remedy; exit 1 if any is bad
  svc check --settings-from-env    where the control plane is configured: its secrets and database role too
  svc check --control-plane https://authz.example.com --json | jq 'select(.level != "good")'
`;

export const command = (): Command =>
  withControlPlane(new Command("check"))
    .option("--settings-from-env", "also check the settings of this environment, as the control plane reads them")
    .option("--json", "one line a finding: {level, what, remedy}")
    .addHelpText("after", examples)
    .action(check);

const marks: Readonly<Record<Level, string>> = {
  good: colors.green("✓"),
  note: colors.yellow("!"),
  bad: colors.red("✗"),
};

interface Flags extends ControlPlaneFlags {
  readonly settingsFromEnv?: boolean;
  readonly json?: boolean;
}

async function* findingsOf({ settingsFromEnv, ...flags }: Flags, onStep: (step: string) => void) {
  yield* checkDeployment(openControlPlane(flags), onStep);
  if (settingsFromEnv === true) yield* checkSettings(process.env, onStep);
}

async function check({ json, ...flags }: Flags): Promise<void> {
  const steps = progress(json ? "silent" : "shown");
  const findings: Finding[] = [];
  for await (const finding of findingsOf(flags, steps.show)) {
    findings.push(finding);
    steps.done();
    if (json) printJson(finding);
    else print(`${marks[finding.level]} ${finding.what}${finding.remedy === null ? "" : `\n    ${finding.remedy}`}`);
  }
  const bad = findings.filter(({ level }) => level === "bad").length;
  const notes = findings.filter(({ level }) => level === "note").length;
  if (bad > 0) process.exitCode = 1;
  if (!json) print(`\n${findings.length} checked, ${bad} bad, ${notes} to review`);
}
