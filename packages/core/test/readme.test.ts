import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { expect, test } from "vitest";
import * as core from "../src/index.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("the README's example allows what it says", () => {
  const code = readme.split("```ts\n")[1]?.split("```")[0] ?? "";
  const body = stripTypeScriptTypes(code)
    .replace(/^import .*$/m, "")
    .replace("console.log(verdict.outcome)", "return verdict.outcome");
  const run = new Function("core", `const { agentManifest, compile, decide, indexPolicy } = core;${body}`);
  expect(run(core)).toBe("allow");
});
