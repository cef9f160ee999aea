import { startProgram } from "@svc/host/child-program";
import { Command } from "commander";
import { checkDeployment, type Finding } from "../check-deployment.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { colors, print, printJson, progress } from "../output.ts";

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

const marks = { good: colors.green("✓"), note: colors.yellow("!"), bad: colors.red("✗") };

interface Flags extends ControlPlaneFlags {
  readonly settingsFromEnv?: boolean;
}

async function* findingsOf({ settingsFromEnv, ...flags }: Flags, onStep: (step: string) => void) {
  yield* checkDeployment(openControlPlane(flags), onStep);
  if (settingsFromEnv === true) yield* checkSettings(onStep);
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

/** Findings that no plane shows: the control plane's own program reads the settings. They never contain a value. */
async function* checkSettings(onStep: (step: string) => void): AsyncGenerator<Finding> {
  onStep("reading the settings and the rights of the database role");
  const lines: string[] = [];
  const program = startProgram({
    name: "control plane",
    url: import.meta.resolve("@svc/control-plane/main"),
    args: ["check"],
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
