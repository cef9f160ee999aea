import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { chartFolder } from "./src/helm.ts";
import { readmeFile, readmeOf } from "./src/readme.ts";
import { documentedValues } from "./src/values-table.ts";

const readme = readFileSync(readmeFile, "utf8");

test("the table of values matches values.yaml (else run: pnpm chart)", () => {
  expect(readme).toBe(readmeOf(readme));
});

test("every values file of the chart is described", () => {
  const files = readdirSync(chartFolder).filter((name) => /^values-.*\.yaml$/.test(name));
  expect(files.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
});

test("every link of the README leads to a file", () => {
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = ""]) => path);
  expect(links.length).toBeGreaterThan(3);
  expect(links.filter((path) => !existsSync(join(chartFolder, path)))).toEqual([]);
});

test("the Secrets in its commands have the keys of the values", () => {
  const { controlPlane, migration } = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8"));
  const commands = readme.matchAll(/kubectl create secret generic (\S+) --namespace svc-system((?:.*\\\n)*.*)/g);
  const made = [...commands].map(([, name = "", rest = ""]) => [
    name,
    [...rest.matchAll(/--from-literal=([^=]+)=/g)].map(([, key]) => key).sort(),
  ]);
  const keys = Object.values(controlPlane.secrets.keys).filter((key) => key !== "");
  expect(Object.fromEntries(made)).toEqual({
    [controlPlane.secrets.name]: keys.sort(),
    [migration.secret.name]: [migration.secret.key],
  });
});

describe("the table of a values file", () => {
  const of = (text: string) => documentedValues(text);

  test("has each value with its comment, and one row for a mapping without comments", () => {
    const text = [
      "# The file's own, which is nobody's.",
      "",
      "one:",
      "  # First, over",
      "  # two lines.",
      "  a: 1",
      "  # Whole.",
      "  b:",
      "    requests: { cpu: 1 }",
      "# Of all below.",
      "two:",
      "  # Listed.",
      "  c:",
      "    - x: 1",
    ].join("\n");
    expect(of(text)).toEqual([
      { path: "one.a", default: "1", meaning: "First, over two lines." },
      { path: "one.b", default: '{"requests":{"cpu":1}}', meaning: "Whole." },
      { path: "two", default: undefined, meaning: "Of all below." },
      { path: "two.c", default: '[{"x":1}]', meaning: "Listed." },
    ]);
  });

  test("has every value", () => {
    expect(() => of("# Said.\na: 1\nb: 2\n")).toThrow("b has no comment in values.yaml");
  });
});
