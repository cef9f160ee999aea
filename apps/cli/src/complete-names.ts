import { spawnSync } from "node:child_process";
import type { Complete, RootCommand } from "@bomb.sh/tab";
import { readContexts } from "./contexts.ts";

type Names = () => readonly string[];

/** By the name of the argument or option: the words that a shell proposes for it. */
const namesOf: ReadonlyMap<string, Names> = new Map<string, Names>([
  ["agent", () => listed("agents", "list")],
  ["scope", () => listed("scopes", "list")],
  ["session", () => listed("sessions", "list")],
  ["session_id", () => listed("sessions", "list")],
  ["sign_in_id", () => listed("sign-ins", "list")],
  ["action_id", () => listed("decisions")],
  ["context", contextNames],
]);

/** Completes the names of agents, scopes and contexts, and the newest ids, wherever a command takes one. */
export function completeNames({ commands }: RootCommand): void {
  for (const [path, command] of commands) {
    for (const argument of command.arguments.values()) {
      const names = path.startsWith("context ") ? contextNames : namesOf.get(argument.name);
      if (names !== undefined) argument.handler ??= proposing(names);
    }
    for (const option of command.options.values()) {
      const names = namesOf.get(option.value);
      if (names !== undefined) option.handler = proposing(names);
    }
  }
}

const proposing = (names: Names) => (complete: Complete) => {
  for (const name of names()) complete(name, "");
};

/** A shell waits for it. */
const patienceMs = 2_000;

/** What `svc ... -o name` prints; nothing where that fails, since a shell has no place for an error. */
function listed(...words: readonly string[]): readonly string[] {
  const args = [...process.execArgv, process.argv[1] ?? "", ...words, "-o", "name", "--limit", "200"];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: patienceMs });
  return status === 0 ? stdout.trim().split("\n").filter(Boolean) : [];
}

function contextNames(): readonly string[] {
  try {
    return Object.keys(readContexts().byName);
  } catch {
    return [];
  }
}
