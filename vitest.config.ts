import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ProgressReporter } from "./test/support/src/progress-reporter.ts";

const inPackage = [
  "packages/console",
  "packages/core",
  "packages/classify",
  "packages/tokens",
  "packages/seals",
  "packages/telemetry",
  "packages/hop",
  "packages/client",
  "packages/drift",
  "packages/verifier",
  "packages/host",
  "packages/embedded",
  "apps/control-plane",
  "apps/pep",
  "apps/injector",
  "apps/cli",
  "apps/dev",
];
const blackBox = [
  "test/vectors",
  "test/bench",
  "test/browser",
  "test/conformance",
  "test/documents",
  "test/e2e",
  "test/fuzz",
  "test/hardening",
  "test/faults",
  "test/scale",
  "test/helm",
  "test/images",
  "test/examples",
  "test/observability",
  "test/packages",
  "test/recipes",
  "test/support",
];

/**
 * Whole programs, and what else takes most of the time: `pnpm test:long` runs them alone. Those of `inBoth` run in both,
 * there with more rounds.
 */
const long = [
  "apps/cli/test/{audit-verify,commands,completion,entry-agent,examples,formats,init,init-submit}.test.ts",
  "apps/cli/test/{manifest,record,run-clients,run-isolated,run-secrets,terminal,upstreams}.test.ts",
  "apps/control-plane/test/{guard-redis,seal-head,stored-names,tool-definitions,would-block-exact}.test.ts",
  "apps/dev/test/{demo,dev}.test.ts",
  "apps/pep/test/{credential-end,overhead}.test.ts",
  "packages/embedded/test/database.test.ts",
  "test/browser/*.test.ts",
  "test/conformance/{command,hostile-input,key-load,outage,rate-limits,restored-database}.test.ts",
  "test/e2e/*.test.ts",
  "test/examples/walk.test.ts",
  "test/faults/{deployment,killed-delivery,revocation-race}.test.ts",
  "test/hardening/permissions.test.ts",
  "test/images/images.test.ts",
  "test/observability/dashboards.test.ts",
  "test/packages/{command,guide,runtimes,tarballs}.test.ts",
  "test/recipes/*.test.ts",
  "test/scale/*.test.ts",
];
const inBoth = [
  "apps/control-plane/test/evidence.test.ts",
  "apps/control-plane/test/hop-races.test.ts",
  "apps/control-plane/test/sinks-interleaved.test.ts",
  "apps/pep/test/served-paths.test.ts",
  "test/fuzz/fuzz.test.ts",
];

const within = (root: string, files: readonly string[]) =>
  files.filter((file) => file.startsWith(`${root}/`)).map((file) => file.slice(root.length + 1));

/** `--mode test` runs all but the long ones, `--mode long` those, `--mode all` every file. */
type Mode = "test" | "long" | "all";

/** `isolate: false`: the files share no state, so that a worker reads its modules once. */
const project = (root: string, include: string, mode: Mode) => ({
  extends: true as const,
  test: {
    name: root.replace(/^[a-z]+\//, ""),
    root,
    isolate: false,
    include: mode === "long" ? within(root, [...long, ...inBoth]) : [include],
    exclude: ["**/node_modules/**", ...(mode === "test" ? within(root, long) : [])],
  },
});

export default defineConfig(({ mode }) => ({
  // The key that counts: resolve.conditions alone fails while dist is absent.
  ssr: { resolve: { conditions: ["@svc/source", "node", "development|production"] } },
  test: {
    // Two more than there are cores: most tests wait for processes of their own half of the time.
    maxWorkers: availableParallelism() + 2,
    // No test is timed: these limits end only what hangs, however busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    onConsoleLog: (text) => !text.includes("oidc-provider WARNING"),
    // .ci/run reads the report.
    reporters: [["json", { outputFile: `node_modules/.cache/vitest-${mode}.json` }], new ProgressReporter()],
    env: { TEST_LONG: String(mode === "long") },
    globalSetup: ["test/support/src/global-setup.ts"],
    projects: [
      ...inPackage.map((root) => project(root, "test/**/*.test.ts", mode as Mode)),
      ...blackBox.map((root) => project(root, "**/*.test.ts", mode as Mode)),
    ],
  },
}));
