import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { bundle } from "./src/bundle.ts";
import { build, workspace } from "./src/pack.ts";

beforeAll(build);

/**
 * The whole library with all its dependencies, minified, then compressed as a server would. zod's classic entry alone is
 * 17 kB of it: what a bundle of the verifier reaches imports `zod/mini`.
 */
test.each([
  ["verifier", "worker", 40],
  ["verifier", "node", 40],
  ["client", "node", 70],
] as const)("@svc/%s bundled for %s has at most %i kB", async (name, condition, limit) => {
  const entry = join(workspace, "packages", name, "dist/index.js");
  const { code } = await bundle(entry, [condition], { format: "esm", minify: true });
  const kilobytes = gzipSync(code, { level: 9 }).length / 1000;
  console.log(`@svc/${name} for ${condition}: ${kilobytes.toFixed(1)} kB`);
  expect(kilobytes).toBeLessThanOrEqual(limit);
});
