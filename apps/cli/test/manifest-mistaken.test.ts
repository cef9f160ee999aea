import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { svc } from "./svc.ts";

test("an upstreams file in place of a manifest is named as what it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-lint-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pep.yaml");
  writeFileSync(file, "upstreams: []\n");
  const { code, stdout } = await svc(["manifest", "lint", file]);
  expect([code, stdout]).toEqual([1, expect.stringContaining("pep.yaml is an upstreams file, and no manifest")]);
});
