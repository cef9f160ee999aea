import { expect, test } from "vitest";
import { unordered } from "./src/references.ts";

test("every project refers to what it imports, so that a build from nothing has an order", () => {
  expect(unordered()).toEqual([]);
});
