import { stringify } from "yaml";

export const forges = ["github", "gitlab"] as const;
export type Forge = (typeof forges)[number];

interface Steps {
  readonly test: string;
  readonly manifests: string;
}

const trace = "svc-trace";
const gate = ({ manifests }: Steps, format: string): string =>
  `npx --yes --package @svc/cli svc drift check --trace ${trace} --manifests ${manifests} --format ${format}`;

/** A workflow that records call edges during the tests and checks them. */
export const workflowOf = (forge: Forge, steps: Steps): { readonly file: string; readonly text: string } =>
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
        { uses: "actions/checkout@v4" },
        { uses: "actions/setup-node@v4", with: { "node-version": "22" } },
        { run: "npm ci" },
        { run: steps.test, env: { SVC_TRACE_PATH: trace } },
        { run: gate(steps, "github") },
      ],
    },
  },
});

const gitlab = (steps: Steps) => ({
  drift: {
    image: "node:22",
    variables: { SVC_TRACE_PATH: trace },
    script: ["npm ci", steps.test, `${gate(steps, "junit")} > drift.xml`],
    artifacts: { when: "always", reports: { junit: "drift.xml" } },
  },
});
