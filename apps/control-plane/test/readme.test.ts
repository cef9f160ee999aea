import { readFileSync } from "node:fs";
import { settingsMarkdown } from "@svc/host";
import { expect, test } from "vitest";
import { controlPlaneSettings } from "../src/start/settings-table.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const between = (name: string) => readme.split(`<!-- ${name} -->`)[1]?.split(`<!-- /${name} -->`)[0]?.trim();

/** However the formatter aligns it. */
const cells = (table = "") =>
  table
    .trim()
    .replaceAll(/ *\| */g, "|")
    .replaceAll(/-{3,}/g, "---");

test("the README lists every setting with its default and meaning", () => {
  expect(cells(between("settings"))).toBe(cells(settingsMarkdown(controlPlaneSettings)));
});
