import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { apiReference, documented, exportsOf } from "./src/api-reference.ts";
import { build, workspace } from "./src/pack.ts";

beforeAll(build);

describe.each(documented)("@svc/%s", (name) => {
  test("every export has a doc comment", () => {
    expect(exportsOf(name).length).toBeGreaterThan(10);
    const silent = exportsOf(name).filter(({ doc, declaration }) => doc === "" || declaration === "");
    expect(silent.map((each) => each.name)).toEqual([]);
  });

  test("API.md matches the doc comments (else run: pnpm --filter @svc/test-packages api)", () => {
    expect(readFileSync(join(workspace, "packages", name, "API.md"), "utf8")).toBe(apiReference(name));
  });
});
