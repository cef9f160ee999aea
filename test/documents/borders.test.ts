import { expect, test } from "vitest";
import { borderTable, filesRefused, type Import, restrictedImports } from "./src/borders.ts";
import { filesLike, read } from "./src/tree.ts";

const packages = borderTable("imports of this project");
const folders = borderTable("never imports");

const manifestOf = (path: string) => JSON.parse(read(path)) as { name: string; dependencies?: Record<string, string> };
const manifests = filesLike("{packages,apps}/*/package.json");
const everyName = manifests.map((path) => manifestOf(path).name);

const source = (folder: string): string => `${folder}/src`;
const specifierOf = (name: string): string => (name.endsWith("/") ? `../${name}any.ts` : name);

test("the tables of ARCHITECTURE.md name every package and app", () => {
  const named = packages.map(({ folder }) => `${folder}/package.json`);
  expect(named.toSorted()).toEqual(manifests);
  expect(folders.length).toBeGreaterThan(5);
});

test("a package depends on the packages of its row, and no other", () => {
  const undeclared = packages
    .filter(({ folder }) => folder.startsWith("packages/"))
    .flatMap(({ folder, names }) => {
      const ours = Object.keys(manifestOf(`${folder}/package.json`).dependencies ?? {}).filter((name) =>
        everyName.includes(name),
      );
      return ours.filter((name) => !names.includes(name)).map((name) => ({ folder, name }));
    });
  expect(undeclared).toEqual([]);
});

test("the linter refuses every import that a row does not list, and no import that it lists", async () => {
  const listed = packages.flatMap(({ folder, names }) =>
    names.map((specifier) => ({ folder: source(folder), specifier })),
  );
  const unlisted = packages.flatMap(({ folder, names }) =>
    everyName
      .filter((name) => !names.includes(name) && name !== manifestOf(`${folder}/package.json`).name)
      .map((specifier) => ({ folder: source(folder), specifier })),
  );
  expect(await restrictedImports([...listed, ...unlisted])).toEqual(unlisted);
});

test("the linter refuses every import across a border between folders", async () => {
  const across: readonly Import[] = folders.flatMap(({ folder, names }) =>
    names.map((name) => ({ folder, specifier: specifierOf(name) })),
  );
  const within = folders.map(({ folder }) => ({ folder, specifier: "./neighbour.ts" }));
  expect(await restrictedImports([...across, ...within])).toEqual(across);
});

test("an import across a border is refused from a folder below too", async () => {
  const deep = folders
    .filter(({ names }) => names.some((name) => name.endsWith("/")))
    .map(({ folder, names: [first = ""] }) => ({ folder: `${folder}/below`, specifier: `../../${first}any.ts` }));
  expect(await restrictedImports(deep)).toEqual(deep);
});

test("no source reaches into the sources of another package", async () => {
  const reaching = packages.map(({ folder }) => ({
    folder: source(folder),
    specifier: "../../../packages/tokens/src/index.ts",
  }));
  expect(await restrictedImports(reaching)).toEqual(reaching);
});

test("files that import each other are refused, also by types alone", async () => {
  const half = (other: string) =>
    `import type { B } from "./${other}.ts";\n\nexport interface A {\n  readonly b: B;\n}\n`;
  const files = [
    ["packages/tokens/src/one.ts", half("other")],
    ["packages/tokens/src/other.ts", half("one")],
  ] as const;
  expect(await filesRefused("lint/suspicious/noImportCycles", files)).toEqual(new Set(files.map(([path]) => path)));
});

test("what V8 allocates in the old generation is refused where calls are handled", async () => {
  const refused = [
    "const callOf = (hasEnded: boolean) => ({\n  get hasEnded() {\n    return hasEnded;\n  },\n});",
    "const watch = (call: Call) => {\n  call.end = () => undefined;\n};",
    'const watch = (call: Call) => {\n  call["end"] ??= function end() {};\n};',
  ];
  const accepted = [
    "class Running {\n  get hasEnded() {\n    return true;\n  }\n}",
    "const watch = (call: Call) => {\n  const end = () => undefined;\n  call.end = end;\n};",
    "const call = { end: () => undefined, start() {} };",
  ];
  const folders = ["apps/pep/src/http", "apps/control-plane/src/commands", "packages/hop/src", "packages/tokens/src"];
  const files = (kind: string, sources: readonly string[]) =>
    folders.flatMap((folder) =>
      sources.map((source, n) => [`${folder}/${kind}-${n}.ts`, `export ${source}\n`] as const),
    );
  const bad = files("refused", refused);
  expect(await filesRefused("plugin", [...bad, ...files("accepted", accepted)])).toEqual(
    new Set(bad.map(([path]) => path)),
  );
});
