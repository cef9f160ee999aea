import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "@svc/test-support";
import { EdgeVM } from "edge-runtime-vm";
import type { OutputChunk } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { calls, type KeySource, programOf, serveKeySet } from "./src/admissions.ts";
import { installApplication } from "./src/application.ts";
import { bundle } from "./src/bundle.ts";
import { build, packAll } from "./src/pack.ts";
import { binaryOf, type Runtime } from "./src/runtimes.ts";

/** The verifier, installed from its tarball, on the oldest Node and on other runtimes. */
let work: string;
let application: string;
let published: Awaited<ReturnType<typeof serveKeySet>>;
let expected: Awaited<ReturnType<typeof calls>>;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "svc-runtimes-"));
  application = join(work, "application");
  await build();
  await installApplication({ folder: application, packed: await packAll(work), installed: ["@svc/verifier"] });
});
beforeAll(async () => {
  expected = await calls();
  published = await serveKeySet();
});
afterAll(() => {
  published?.close();
  rmSync(work, { recursive: true, force: true });
});

const wantedResults = () => expected.map(({ want }) => want);

describe.each<[Runtime, string[]]>([
  ["node22", []],
  ["bun", ["run"]],
  ["deno", ["run", "--cached-only", "--no-prompt", "--allow-net=127.0.0.1"]],
])("%s", (runtime, args) => {
  const binary = binaryOf(runtime);
  const missing = binary ? "" : ` (skipped: no binary of ${runtime} for this machine is on npm)`;

  async function ends(keys?: KeySource): Promise<void> {
    const file = join(application, `${runtime}.mjs`);
    writeFileSync(file, programOf(expected, "console.log(await ends());", keys));
    const env = { HOME: work, NO_COLOR: "1" };
    const child = startChild(binary ?? "", [...args, file], { cwd: application, env });
    expect({ code: await child.exited, output: child.output().trim() }).toEqual({
      code: 0,
      output: JSON.stringify(wantedResults()),
    });
  }

  test.skipIf(!binary)(`accepts and refuses the same tokens as Node${missing}`, () => ends());

  test.skipIf(!binary)(`does so with fetched keys${missing}`, async () => {
    const before = published.requestCount();
    await ends({ jwksUrl: published.jwksUrl });
    expect(published.requestCount()).toBe(before + 1);
  });
});

/** One bundle under a runtime's conditions, and its remaining imports. */
async function bundled(conditions: readonly string[], keys?: KeySource): Promise<OutputChunk> {
  const file = join(application, `${conditions[0]}.bundle.mjs`);
  writeFileSync(file, programOf(expected, "globalThis.outcome = ends();", keys));
  return bundle(file, conditions, { format: "iife" });
}

// lru-cache publishes to this module under the `node` condition; Bun and Deno have it, as their runs above show.
const diagnostics = ["node:diagnostics_channel"];

test.each<[string[], string[]]>([
  [["bun", "node"], diagnostics],
  [["deno", "node"], diagnostics],
  [["workerd", "worker", "browser"], []],
  [["edge-light", "worker", "browser"], []],
  [["browser"], []],
])("under the conditions %j the library imports of Node's modules: %j", async (conditions, wantedImports) => {
  const { imports, moduleIds } = await bundled(conditions);
  expect(imports).toEqual(wantedImports);
  expect(moduleIds.filter((id) => id.includes("/runtime/")).map((id) => id.split("/").at(-1))).toEqual(["web.js"]);
});

describe("an edge runtime", () => {
  async function ends(keys?: KeySource): Promise<unknown> {
    const { code } = await bundled(["edge-light", "worker", "browser"], keys);
    return JSON.parse(await new EdgeVM({ initialCode: code }).evaluate("globalThis.outcome"));
  }

  test("accepts and refuses the same tokens as Node", async () => expect(await ends()).toEqual(wantedResults()));

  test("does so with fetched keys", async () => {
    const before = published.requestCount();
    expect(await ends({ jwksUrl: published.jwksUrl })).toEqual(wantedResults());
    expect(published.requestCount()).toBe(before + 1);
  });
});
