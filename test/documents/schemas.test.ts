import { describe, expect, test } from "vitest";
import { schemaFiles } from "./src/schema-files.ts";
import { type Schema, sectionsOf } from "./src/schema-page.ts";
import { read } from "./src/tree.ts";

const files = Object.entries(schemaFiles());

test.each(files)("%s is current (else run: pnpm --filter @svc/test-documents schemas)", (path, text) => {
  expect(read(path)).toBe(text);
});

describe.each(files.filter(([path]) => path.endsWith(".json")))("%s", (_path, text) => {
  test("describes every member", () => {
    const sections = sectionsOf(JSON.parse(text) as Schema, "");
    const silent = sections.flatMap(({ title, members }) =>
      members.filter(({ meaning }) => meaning === "").map(({ name }) => `${title}: ${name}`),
    );
    expect(sections.length).toBeGreaterThan(5);
    expect(silent).toEqual([]);
  });
});
