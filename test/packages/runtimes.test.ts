import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "@svc/test-support";
import { EdgeVM } from "edge-runtime-vm";
import { type OutputChunk, rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { calls, programOf } from "./src/admissions.ts";
import { installApplication } from "./src/application.ts";
import { build, closureOf, packAll } from "./src/pack.ts";
import { binaryOf, type Runtime } from "./src/runtimes.ts";

// Every test starts processes, on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

/** The verifier, installed from its tarball, on runtimes other than Node. */
let work: string;
let application: string;
let asked: Awaited<ReturnType<typeof calls>>;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "svc-runtimes-"));
  application = join(work, "application");
  await build();
  const packed = closureOf(["@svc/verifier"], await packAll(work));
  await installApplication({ folder: application, packed, isOffline: true });
}, 120_000);
beforeAll(async () => {
  asked = await calls();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

const wanted = () => asked.map(({ want }) => want);

describe.each<[Runtime, string[]]>([
  ["bun", ["run"]],
  ["deno", ["run", "--cached-only", "--no-prompt"]],
])("%s", (runtime, args) => {
  const binary = binaryOf(runtime);
  const missing = binary ? "" : ` (skipped: no binary of ${runtime} for this machine is on npm)`;

  test.skipIf(!binary)(`admits and refuses as Node does${missing}`, async () => {
    const file = join(application, `${runtime}.mjs`);
    writeFileSync(file, programOf(asked, "console.log(await ends());"));
    const env = { HOME: work, NO_COLOR: "1" };
    const child = startChild(binary ?? "", [...args, file], { cwd: application, env });
    expect({ code: await child.exited, output: child.output().trim() }).toEqual({
      code: 0,
      output: JSON.stringify(wanted()),
    });
  });
});

/** One file of what a runtime's conditions resolve to, and what it still imports. */
async function bundled(conditions: readonly string[]): Promise<OutputChunk> {
  const file = join(application, `${conditions[0]}.bundle.mjs`);
  writeFileSync(file, programOf(asked, "globalThis.outcome = ends();"));
  const bundle = await rolldown({
    input: file,
    cwd: application,
    platform: "neutral",
    resolve: { conditionNames: [...conditions, "import", "default"], mainFields: ["module", "main"] },
    external: /^node:/,
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "iife" });
  await bundle.close();
  return output[0];
}

test.each([
  [["bun", "node"]],
  [["deno", "node"]],
  [["workerd", "worker", "browser"]],
  [["edge-light", "worker", "browser"]],
  [["browser"]],
])("what the conditions %j resolve to imports no module of Node", async (conditions) => {
  const { imports, moduleIds } = await bundled(conditions);
  expect(imports).toEqual([]);
  expect(moduleIds.filter((id) => id.includes("/runtime/")).map((id) => id.split("/").at(-1))).toEqual(["web.js"]);
});

test("an edge runtime admits and refuses as Node does", async () => {
  const { code } = await bundled(["edge-light", "worker", "browser"]);
  const edge = new EdgeVM({ initialCode: code });
  expect(JSON.parse(await edge.evaluate("globalThis.outcome"))).toEqual(wanted());
});
