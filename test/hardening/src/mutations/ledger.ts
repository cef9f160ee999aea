import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutation } from "./mutation.ts";

/** Mutations that were killed before, so that an interrupted run continues. */
export interface Ledger {
  has(mutation: Mutation): boolean;
  add(mutation: Mutation): void;
}

/** Beside the installed packages. An entry is valid until its file or its test is committed again. */
export function openLedger(root: string): Ledger {
  const file = join(root, "node_modules/.cache/mutations.json");
  const known = new Set(readList(file));
  const digestOf = (mutation: Mutation): string => {
    const texts = [mutation.file, mutation.killedBy.file].map((path) => committed(root, path));
    return createHash("sha256")
      .update(JSON.stringify([mutation, texts]))
      .digest("hex");
  };
  return {
    has: (mutation) => known.has(digestOf(mutation)),
    add(mutation) {
      known.add(digestOf(mutation));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify([...known]));
    },
  };
}

const committed = (root: string, path: string): string =>
  execFileSync("git", ["-C", root, "show", `HEAD:${path}`], { encoding: "utf8" });

function readList(file: string): readonly string[] {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return [];
  }
}
