import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { closureOf, libraries, manifestOf, programs, workspace } from "./src/pack.ts";

const published = [...libraries(), ...programs()];
const { engines, license } = manifestOf(workspace);
const { optionalDependencies } = manifestOf(join(workspace, "test/packages"));

/** The versions whose programs `runtimes.test.ts` runs. */
const otherRuntimes = {
  bun: `>=${optionalDependencies?.["@oven/bun-linux-x64"]}`,
  deno: `>=${optionalDependencies?.["@deno/linux-x64-glibc"]}`,
};
const runsEverywhere = closureOf(["@svc/verifier"], published).map(({ manifest }) => manifest.name);

/** One rule for all, so that it holds for a new package too. */
describe.each(published.map(({ folder, manifest }) => ({ name: manifest.name, folder, manifest })))("$name", (each) => {
  const { name, folder, manifest } = each;

  test("names the runtimes that it is tested on", () => {
    expect(manifest.engines).toEqual({ ...engines, ...(runsEverywhere.includes(name) && otherRuntimes) });
  });

  test("can be found: a description, keywords, the licence, and a README", () => {
    expect(manifest).toMatchObject({ license, description: expect.stringMatching(/\.$/) });
    expect(manifest.keywords).toEqual(expect.arrayContaining(["authorization", "ai-agents"]));
    expect(new Set(manifest.keywords).size).toBeGreaterThan(3);
    expect(readFileSync(join(folder, "README.md"), "utf8")).toMatch(/^# /);
  });

  test("ships its sources, which its source maps name", () => {
    expect(manifest.files).toEqual(expect.arrayContaining(["dist", "!dist/.*", "src"]));
  });

  // No address is known here. A release writes the one that it is built from: npm compares it with the provenance.
  test("names no repository, homepage or tracker in this tree", () => {
    for (const member of ["repository", "homepage", "bugs"]) expect(manifest).not.toHaveProperty(member);
  });
});

test("the oldest Node of engines is the one that is tested", () => {
  expect(engines).toEqual({ node: ">=22.20" });
  for (const arch of ["x64", "arm64"]) {
    expect(optionalDependencies?.[`node-22-linux-${arch}`]).toBe(`npm:node-linux-${arch}@22.20.0`);
  }
});
