import { createVitest } from "vitest/node";
import type { NamedTest, SpecRow } from "./spec-table.ts";

/**
 * Looks up the tests that a table names. Their sources are parsed, not run, so that no stack is started.
 *
 * @param root of the repository
 * @param pathOf the path of a test's file
 * @returns one line for each test that does not exist under exactly that name, or is skipped without a part in its name
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
