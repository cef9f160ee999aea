import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ProgressReporter } from "./test/support/src/progress-reporter.ts";

const inPackage = [
  "packages/console",
  "packages/core",
  "packages/tokens",
  "packages/seals",
  "packages/telemetry",
  "packages/hop",
  "packages/client",
  "packages/drift",
  "packages/verifier",
  "packages/host",
];
const startsServers = ["packages/embedded", "apps/control-plane", "apps/pep", "apps/injector", "apps/cli"];
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
  "test/support",
];

const project = (root: string, include: string) => ({
  extends: true as const,
  test: { name: root.replace(/^[a-z]+\//, ""), root, include: [include] },
});

export default defineConfig({
  // The key that counts: resolve.conditions alone fails while dist is absent.
  ssr: { resolve: { conditions: ["@svc/source", "node", "development|production"] } },
  test: {
    // One more than there are cores: most tests wait for processes of their own half of the time.
    maxWorkers: availableParallelism() + 1,
    // No test is timed: these limits end only what hangs, however busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    onConsoleLog: (text) => !text.includes("oidc-provider WARNING"),
    // .ci/run reads the report.
    reporters: [["json", { outputFile: "node_modules/.cache/vitest.json" }], new ProgressReporter()],
    globalSetup: ["test/support/src/global-setup.ts"],
    projects: [
      ...[...inPackage, ...startsServers].map((root) => project(root, "test/**/*.test.ts")),
      ...blackBox.map((root) => project(root, "**/*.test.ts")),
    ],
  },
});
