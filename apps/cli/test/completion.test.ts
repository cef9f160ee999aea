import { expect, test } from "vitest";
import { svc } from "./svc.ts";

test.each(["bash", "zsh", "fish"])("completion for %s is a script", async (shell) => {
  const { code, stdout } = await svc(["completion", shell]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/svc/);
});

test("shells complete commands, subcommands and options", async () => {
  const completed = async (...words: string[]) => (await svc(["complete", "--", ...words])).stdout;
  expect(await completed("ex")).toContain("explain");
  expect(await completed("keys", "")).toContain("rotate");
  expect(await completed("decisions", "--out")).toContain("--outcome");
});
