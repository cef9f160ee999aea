import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { apiReference, documented, exportsOf } from "./src/api-reference.ts";
import { build, workspace } from "./src/pack.ts";

beforeAll(build);

describe.each(documented)("@svc/%s", (name) => {
  test("everything it exports says what it is", () => {
    expect(exportsOf(name).length).toBeGreaterThan(10);
    const silent = exportsOf(name).filter(({ doc, declaration }) => doc === "" || declaration === "");
    expect(silent.map((each) => each.name)).toEqual([]);
  });

  test("its API.md is what its doc comments say (else run: pnpm --filter @svc/test-packages api)", () => {
    expect(readFileSync(join(workspace, "packages", name, "API.md"), "utf8")).toBe(apiReference(name));
  });
});
