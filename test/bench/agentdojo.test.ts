import { ruleList } from "@svc/classify";
import { describe, expect, test } from "vitest";
import { readLiteral } from "./src/agentdojo/literal.ts";
import { toolsOf } from "./src/agentdojo/suite.ts";
import { suites } from "./src/agentdojo/suites/index.ts";
import { tasksOf } from "./src/agentdojo/tasks.ts";

test.each([
  ["{}", {}],
  ["{'n': 100, 'recurring': True, 'x': None}", { n: 100, recurring: true, x: null }],
  ["{'a': 'b, c', 'd': \"it's\", 'e': 'tab\\t'}", { a: "b, c", d: "it's", e: "tab\t" }],
  ["{'to': ['a', self._B], 'l': [{'id': '19'}]}", { to: ["a", "<self._B>"], l: [{ id: "19" }] }],
  [
    "{'names': [h.name for h in hotels], 'm': f'{a}, {b}'}",
    { names: ["<[h.name for h in hotels]>"], m: "<f'{a}, {b}'>" },
  ],
  ["{'amount': 1000 * 0.195 + 5.29}", { amount: "<1000 * 0.195 + 5.29>" }],
])("arguments are read from their Python source, and what it computes is invented: %s", (source, want) => {
  expect(readLiteral(source, (expression) => `<${expression}>`)).toEqual(want);
});

describe.each(suites)("the suite $name", (suite) => {
  const rules = Object.values(suite.writes).flat();

  test("has tasks and attacks, and rules that can be read", () => {
    expect(tasksOf(suite, "user_tasks").length).toBeGreaterThan(10);
    expect(tasksOf(suite, "injection_tasks").length).toBeGreaterThan(3);
    expect(Object.keys(toolsOf(suite)).length).toBeGreaterThan(5);
    expect(ruleList.safeParse(rules.map((when) => ({ when, data_class: "a" }))).success).toBe(true);
  });

  test("has every tool of its honest tasks", () => {
    const used = tasksOf(suite, "user_tasks").flatMap(({ calls }) => calls.map(({ tool }) => tool));
    expect(used.filter((tool) => !Object.hasOwn(toolsOf(suite), tool))).toEqual([]);
  });

  test("names no value that only an attack has", () => {
    const textsOf = (kind: "user_tasks" | "injection_tasks") =>
      new Set(JSON.stringify(tasksOf(suite, kind)).match(/[\w.@-]{5,}/g));
    const honest = textsOf("user_tasks");
    const attacks = [...textsOf("injection_tasks")].filter((text) => !honest.has(text) && !(text in toolsOf(suite)));
    const named = new Set(JSON.stringify(rules).match(/[\w.@-]{5,}/g));
    const members = ["recipient", "recipients", "participants"];
    expect(attacks.filter((text) => named.has(text) && !members.includes(text))).toEqual([]);
  });
});
