import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startChild } from "@svc/test-support";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("../../deploy/examples/", import.meta.url));

/** Identifiers, times, ages and ports differ between runs. */
const comparable = (text: string): string =>
  text
    .trim()
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
    .replaceAll(/\b[0-9a-f]{12}\b/g, "<id>")
    .replaceAll(/ \d+s$/gm, " <age>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:<port>");

test("the walkthrough from observe to enforce runs on this machine, and prints the output of its README", async () => {
  const { PATH = "" } = process.env;
  const walk = startChild(process.execPath, ["--conditions=@svc/source", `${example}walk/main.ts`], { env: { PATH } });
  const code = await walk.exited;
  const [, shown = ""] =
    /<!-- walk -->\n+```console\n(.*?)```/s.exec(readFileSync(`${example}README.md`, "utf8")) ?? [];
  expect(comparable(walk.output())).toBe(comparable(shown));
  expect(code).toBe(0);
});
