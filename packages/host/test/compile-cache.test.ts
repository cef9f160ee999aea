import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const keeper = new URL("../src/compile-cache.ts", import.meta.url).href;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-compiled-"));
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  writeFileSync(join(folder, "program.js"), 'console.log("done");\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts a program, as the apps' main files do, and tells what it wrote. */
function started(main: string, env: Record<string, string> = {}): string {
  const file = join(folder, main);
  writeFileSync(
    file,
    `import { keepCompiled } from "${keeper}";\nkeepCompiled(import.meta.url);\nawait import("./program.js");\n`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd: folder, env, encoding: "utf8" });
  return stdout + stderr;
}

const kept = (): readonly string[] =>
  existsSync(join(folder, ".compile-cache"))
    ? readdirSync(join(folder, ".compile-cache"), { recursive: true, encoding: "utf8" })
    : [];

test("the compiled code of a built program is stored beside it, for its next start", () => {
  expect(started("main.js")).toBe("done\n");
  expect(kept()).not.toEqual([]);
  const again = started("main.js", { NODE_DEBUG_NATIVE: "COMPILE_CACHE" });
  expect(again).toMatch(/V8 code cache for ESM \S+program\.js was accepted/);
});

test.each([
  ["runs from its sources", "main.ts", {}],
  ["is told to keep nothing", "main.js", { NODE_DISABLE_COMPILE_CACHE: "1" }],
  ["is told another folder", "main.js", { NODE_COMPILE_CACHE: "elsewhere" }],
])("a program that %s stores no compiled code beside it", (_how, main, env) => {
  expect(started(main, env)).toBe("done\n");
  expect(kept()).toEqual([]);
});

test("a program whose folder is not writable works the same, and logs nothing", () => {
  // In the way for root too, whom no permission would stop.
  writeFileSync(join(folder, ".compile-cache"), "a file");
  expect(started("main.js")).toBe("done\n");
  expect(readFileSync(join(folder, ".compile-cache"), "utf8")).toBe("a file");
});
