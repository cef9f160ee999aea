import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ProgressReporter } from "./test/support/src/progress-reporter.ts";

const inPackage = [
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

const project = (root: string, include: string, more: { readonly testTimeout?: number } = {}) => ({
  extends: true as const,
  test: { name: root.replace(/^[a-z]+\//, ""), root, include: [include], ...more },
});

export default defineConfig({
  // The key that counts: resolve.conditions alone fails while dist is absent.
  ssr: { resolve: { conditions: ["@svc/source", "node", "development|production"] } },
  test: {
    // One more than there are cores: most tests wait for processes of their own half of the time.
    maxWorkers: availableParallelism() + 1,
    // .ci/run reads the report.
    reporters: [["json", { outputFile: "node_modules/.cache/vitest.json" }], new ProgressReporter()],
    globalSetup: ["test/support/src/global-setup.ts"],
    projects: [
      ...inPackage.map((root) => project(root, "test/**/*.test.ts")),
      // They start processes and databases, and wait on conditions: a busy machine is slow, and no test is timed.
      ...startsServers.map((root) => project(root, "test/**/*.test.ts", { testTimeout: 30_000 })),
      ...blackBox.map((root) => project(root, "**/*.test.ts", { testTimeout: 60_000 })),
    ],
  },
});
