import { expect, test } from "vitest";
import { unordered } from "./src/references.ts";

test("every project references the projects that it imports", () => {
  expect(unordered()).toEqual([]);
});
