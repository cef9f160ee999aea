import { startProgram } from "@svc/host/child-program";
import type { Finding } from "@svc/host/finding";
import { Command } from "commander";
import { checkDeployment } from "../check-deployment.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { colors, print, printJson, progress } from "../output.ts";

const examples = `
Examples:
  svc check                        every finding with a remedy; exit 1 if any is bad
  svc check --settings-from-env    where the control plane is configured: its secrets and database role too
  SVC_PEP_CONFIG=pep.yaml svc check --pep-settings-from-env
                                   where an enforcement point is configured: what it gives away
  svc check --control-plane https://authz.example.com --json | jq 'select(.level != "good")'
`;

export const command = (): Command =>
  withControlPlane(new Command("check"))
    .option("--settings-from-env", "also check the settings of this environment, as the control plane reads them")
    .option("--pep-settings-from-env", "the same, as an enforcement point reads them")
    .option("--json", "one line a finding: {level, what, remedy}")
    .addHelpText("after", examples)
    .action(check);

const marks = { good: colors.green("✓"), note: colors.yellow("!"), bad: colors.red("✗") };

interface Flags extends ControlPlaneFlags {
  readonly settingsFromEnv?: boolean;
  readonly pepSettingsFromEnv?: boolean;
}

/** The programs that read settings of the environment, and report them as findings. */
const settingsOf = {
  controlPlane: { name: "control plane", urlOf: () => import.meta.resolve("@svc/control-plane/main"), args: ["check"] },
  pep: { name: "enforcement point", urlOf: () => import.meta.resolve("@svc/pep/main"), args: ["--check-settings"] },
};

async function* findingsOf(flags: Flags, onStep: (step: string) => void) {
  yield* checkDeployment(openControlPlane(flags), onStep);
  if (flags.settingsFromEnv === true) {
    onStep("reading the settings and the rights of the database role");
    yield* checkSettings(settingsOf.controlPlane);
  }
  if (flags.pepSettingsFromEnv === true) {
    onStep("reading the settings of the enforcement point");
    yield* checkSettings(settingsOf.pep);
  }
}

async function check({ json, ...flags }: Flags): Promise<void> {
  const steps = progress({ isShown: !json });
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

/** Findings that no plane shows: the program that has the settings reads them. They never contain a secret. */
async function* checkSettings({
  urlOf,
  ...settings
}: (typeof settingsOf)[keyof typeof settingsOf]): AsyncGenerator<Finding> {
  const lines: string[] = [];
  const program = startProgram({
    ...settings,
    url: urlOf(),
    env: process.env,
    onLine: (line) => lines.push(line),
  });
  const code = await program.ended;
  const findings = lines.flatMap((line) => findingOf(line) ?? []);
  if ((code !== 0 && code !== 1) || findings.length === 0) {
    throw notTried("the settings could not be checked", program.lastLines());
  }
  yield* findings;
}

/** Undefined for any other output. */
function findingOf(line: string): Finding | undefined {
  try {
    const { level, what, remedy }: Finding = JSON.parse(line);
    return { level, what, remedy };
  } catch {
    return undefined;
  }
}
