import { readFileSync } from "node:fs";
import { readLiteral } from "./literal.ts";
import type { Suite } from "./suite.ts";

export interface TaskCall {
  readonly tool: string;
  readonly args: unknown;
}

export interface Task {
  readonly name: string;
  readonly calls: readonly TaskCall[];
}

type Kind = "user_tasks" | "injection_tasks";
type Source = Readonly<Record<string, Readonly<Record<string, readonly (readonly [tool: string, args: string])[]>>>>;

const source: Source = JSON.parse(readFileSync(new URL("../../agentdojo/calls.json", import.meta.url), "utf8"));

/** The tasks of a suite that have literal calls. */
export function tasksOf({ tasks, values }: Suite, kind: Kind): readonly Task[] {
  return Object.entries(source[`${tasks}/${kind}`] ?? {})
    .filter(([, calls]) => calls.length > 0)
    .map(([name, calls]) => ({
      name,
      calls: calls.map(([tool, args]) => ({
        tool,
        args: readLiteral(args, (expression) =>
          Object.hasOwn(values, expression) ? values[expression] : invented(expression),
        ),
      })),
    }));
}

/** A value of the shape that the expression's name suggests, which no rule names. */
function invented(expression: string): string {
  if (/url|link|web/i.test(expression)) return "www.invented.example";
  if (/_ID(?:_\d+)?$|[._]id(?:\(\))?$/.test(expression)) return "17";
  return `invented ${expression.replace(/[^A-Za-z0-9]+/g, " ").trim()}`;
}
