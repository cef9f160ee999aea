import { createVitest } from "vitest/node";
import type { NamedTest, SpecRow } from "./spec-table.ts";

/**
 * Looks up the tests that a table names. Their sources are read, not run: tests are known by name without their stacks.
 *
 * @param root of the repository
 * @param pathOf where the file of a test is
 * @returns one line for each that is not there under just its name, or is skipped for what the name does not say
 */
export async function missingTests(
  rows: readonly SpecRow[],
  root: string,
  pathOf: (named: NamedTest) => string,
): Promise<readonly string[]> {
  const named = rows.flatMap(({ tests }) => tests);
  const written = await readTests(root, [...new Set(named.map(pathOf))]);
  return [...new Set(named.flatMap((each) => faultOf(each, written.get(pathOf(each)) ?? [])))];
}

interface WrittenTest {
  readonly fullName: string;
  readonly mode: string;
}

async function readTests(root: string, files: readonly string[]): Promise<ReadonlyMap<string, readonly WrittenTest[]>> {
  const parser = await createVitest("test", { config: false, root, include: [], watch: false });
  try {
    const project = parser.getRootProject();
    const modules = await parser.parseSpecifications(files.map((file) => project.createSpecification(file)));
    return new Map(
      modules.map((module) => [
        module.moduleId,
        [...module.children.allTests()].map(({ fullName, options }) => ({ fullName, mode: options.mode ?? "run" })),
      ]),
    );
  } finally {
    await parser.close();
  }
}

function faultOf({ file, name }: NamedTest, written: readonly WrittenTest[]): string[] {
  const found = written.filter(({ fullName }) => fullName === name || fullName.endsWith(` > ${name}`));
  const names = new Set(found.map(({ fullName }) => fullName));
  if (names.size === 0) return [`${file} has no test "${name}"`];
  if (names.size > 1) return [`${file} has ${names.size} tests "${name}": name the group too`];
  const isSkipped = found.some(({ mode }) => mode !== "run") && !/\(needs .*\)/.test(name);
  return isSkipped ? [`${file}: "${name}" is skipped`] : [];
}
