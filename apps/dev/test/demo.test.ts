import { spawnApp } from "@svc/test-support";
import { expect, test } from "vitest";
import { narration, story } from "../src/commands/demo.ts";

test("every step of the story succeeds, with request, decision and reason", async () => {
  const child = spawnApp({ main: "@svc/dev/main", args: ["demo", "--json"], env: {} });
  expect(await child.exited, child.output()).toBe(0);
  const lines = child
    .stdout()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ title, ok }) => ({ title, ok }))).toEqual(story.map(({ title }) => ({ title, ok: true })));
  for (const { asked, decided, why } of lines)
    expect([asked, decided, why].every(({ length }) => length > 0)).toBe(true);
});

test("a failed step is printed with its cause", () => {
  const lines: string[] = [];
  const narrator = narration("text", (line) => lines.push(line));
  narrator.begin(1, 2, "A step").asked("something");
  narrator.end(new Error("403 is not 200"));
  const text = lines.join("\n");
  expect(text).toMatch(/\[1\/2\] A step[\s\S]*asked[\s\S]*something[\s\S]*failed[\s\S]*403 is not 200/);
});
