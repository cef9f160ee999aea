import { readFileSync } from "node:fs";
import { settingsMarkdown, sharedSettings } from "@svc/host";
import { expect, test } from "vitest";
import { pepSettings } from "../src/start/config.ts";
import { flags } from "../src/start/help.ts";
import { readUpstreams } from "../src/upstreams/upstreams-file.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const between = (start: string, end: string) => readme.split(start)[1]?.split(end)[0]?.trim();

/** However the formatter aligns it. */
const cells = (table = "") =>
  table
    .trim()
    .replaceAll(/ *\| */g, "|")
    .replaceAll(/-{3,}/g, "---");

test("the README lists every setting", () => {
  const table = settingsMarkdown({ ...pepSettings, ...sharedSettings });
  expect(cells(between("<!-- settings -->", "<!-- /settings -->"))).toBe(cells(table));
});

test("the README lists every flag of the command with its effect", () => {
  const rows = flags.map(({ flag, does }) => `| ${flag === "none" ? flag : `\`${flag}\``} | ${does} |`);
  const table = ["| flag | does |", "|---|---|", ...rows].join("\n");
  expect(cells(between("<!-- flags -->", "<!-- /flags -->"))).toBe(cells(table));
});

test("the README's configuration is valid", () => {
  const read = readUpstreams(between("```yaml\n", "```") ?? "", { defaultMode: "enforce", readFile: () => "PEM" });
  expect(read).toMatchObject({ ok: true });
});
