import { readFileSync } from "node:fs";
import { settingsReference } from "@svc/host";
import { expect, test } from "vitest";
import { injectorSettings } from "../src/config.ts";
import { optionNames, podOptions, settingOf } from "../src/options.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const rows = readme.split("\n").map((line) => line.split(/\s*\|\s*/).slice(1, -1));

test("the README lists every annotation with its setting, default and meaning", () => {
  const documented = rows.filter(([name]) => name?.startsWith("`pep.svc/"));
  const reference = new Map(settingsReference(podOptions).map((entry) => [entry.name, entry]));
  expect(documented).toEqual(
    optionNames.map((name) => {
      const { default: text, doc } = reference.get(name) ?? { default: "", doc: "" };
      return [`\`${name}\``, `\`${settingOf(name)}\``, text === "none" ? text : `\`${text}\``, doc];
    }),
  );
});

test("the README names every setting", () => {
  for (const name of Object.keys(injectorSettings)) expect(readme).toContain(`\`${name}\``);
});
