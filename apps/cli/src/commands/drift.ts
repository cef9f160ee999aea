import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type ReportFormat, reportFormats, runDriftCheck } from "@svc/drift";
import { Command, Option } from "commander";
import { stringify } from "yaml";
import { commandGroup } from "../command-group.ts";
import { Fault, notTried } from "../fault.ts";
import { print, printJson } from "../output.ts";

const forges = ["github", "gitlab"] as const;
type Forge = (typeof forges)[number];

const examples = `
Examples:
  SVC_TRACE_PATH=trace pnpm test && svc drift check --trace trace --manifests manifests
  svc drift check --trace trace --manifests manifests --expect-denied denied.yaml --scope expenses
  svc drift check --trace trace --manifests manifests --format sarif > drift.sarif
  svc drift check --trace trace --manifests manifests --metrics-file /var/lib/node_exporter/svc_drift.prom
  svc drift init --for github

Exit codes: 0 every recorded call is declared, or denied as expected; 1 one is not; 2 traces or manifests prove nothing.
`;

export const command = (): Command =>
  commandGroup("drift", examples, [
    new Command("check")
      .description("Check recorded calls with the decision function of the control plane.")
      .requiredOption("--trace <paths...>", "trace files, and folders of them")
      .requiredOption("--manifests <paths...>", "manifest files, and folders of them")
      .option("--expect-denied <files...>", "files with calls whose deny a test expects")
      .option("--scope <scope>", "of calls recorded without one, as an enforcement point does")
      .addOption(new Option("--format <format>", "of the report").choices([...reportFormats]).default("text"))
      .option("--json", "short for --format json")
      .option("--metrics-file <file>", "write the svc_drift_* metrics there, for a node exporter's textfile collector")
      .action(check),
    new Command("init")
      .description("Write a workflow that runs the gate with the tests.")
      .addOption(new Option("--for <forge>", "the CI system").choices([...forges]).makeOptionMandatory())
      .option("--test <command>", "the test command", "npm test")
      .option("--manifests <folder>", "their folder", "manifests")
      .option("--json", "one line: {file}")
      .action(init),
  ]);

interface CheckFlags {
  readonly trace: readonly string[];
  readonly manifests: readonly string[];
  readonly format: ReportFormat;
  readonly expectDenied?: readonly string[];
  readonly scope?: string;
  readonly json?: boolean;
  readonly metricsFile?: string;
}

async function check({ trace, expectDenied, format, json, metricsFile, ...same }: CheckFlags): Promise<void> {
  const check = { ...same, traces: trace, expectedDenials: expectDenied, format: json ? "json" : format } as const;
  const outcome = runDriftCheck(check);
  process.exitCode = outcome.exitCode;
  process.stdout.write(outcome.text);
  if (metricsFile !== undefined) {
    await writeFile(metricsFile, outcome.metrics).catch((cause: unknown) => {
      throw notTried(`${metricsFile} cannot be written`, "Check --metrics-file.", cause);
    });
  }
}

interface InitFlags {
  readonly for: Forge;
  readonly test: string;
  readonly manifests: string;
  readonly json?: boolean;
}

async function init({ for: forge, test, manifests, json }: InitFlags): Promise<void> {
  const { file, text } = workflowOf(forge, { test, manifests });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { flag: "wx" }).catch((cause: unknown) => {
    const advice = "If it exists, move it away first: nothing is overwritten.";
    throw new Fault(`${file} cannot be written`, advice, { cause });
  });
  if (json) printJson({ file });
  else print(`wrote ${file}`);
}

interface Steps {
  readonly test: string;
  readonly manifests: string;
}

const trace = "svc-trace";
// `--no`: what `npm ci` installed by the lock file, never a package of that name from a registry.
const gate = ({ manifests }: Steps, format: string): string =>
  `npx --no -- svc drift check --trace ${trace} --manifests ${manifests} --format ${format}`;

/** A workflow that records call edges during the tests and checks them. */
const workflowOf = (forge: Forge, steps: Steps): { readonly file: string; readonly text: string } =>
  forge === "github"
    ? { file: ".github/workflows/drift.yml", text: stringify(github(steps)) }
    : { file: ".gitlab/drift.gitlab-ci.yml", text: stringify(gitlab(steps)) };

const github = (steps: Steps) => ({
  name: "drift",
  on: ["pull_request"],
  permissions: { contents: "read" },
  jobs: {
    drift: {
      "runs-on": "ubuntu-latest",
      steps: [
        { uses: "actions/checkout@v4.2.2" },
        { uses: "actions/setup-node@v4.1.0", with: { "node-version": "22.20" } },
        { run: "npm ci" },
        { run: steps.test, env: { SVC_TRACE_PATH: trace } },
        { run: gate(steps, "github") },
      ],
    },
  },
});

const gitlab = (steps: Steps) => ({
  drift: {
    image: "node:22.20.0-bookworm",
    variables: { SVC_TRACE_PATH: trace },
    script: ["npm ci", steps.test, `${gate(steps, "junit")} > drift.xml`],
    artifacts: { when: "always", reports: { junit: "drift.xml" } },
  },
});
