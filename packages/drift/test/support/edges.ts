import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Edge } from "../../src/index.ts";

/** A call that `manifests` declares, with changes. */
export const anEdge = (changes: Partial<Edge> = {}): Edge => ({
  scope: "expenses",
  chain: ["planner"],
  caller: "planner",
  target: "http:ledger/read",
  targetKind: "tool",
  dataClass: "finance.entries",
  hop: 2,
  taint: "trusted_internal",
  outcome: "allow",
  ...changes,
});

export const aDelegation = (changes: Partial<Edge> = {}): Edge =>
  anEdge({
    chain: [],
    caller: "ada",
    target: "planner",
    targetKind: "agent",
    dataClass: "finance",
    hop: 1,
    ...changes,
  });

export const plannersManifest = {
  scopes: {
    expenses: {
      hop_budget: 4,
      tools: [
        { ref: "http:ledger/read", data_classes: ["finance"] },
        { ref: "http:ledger/post", data_classes: ["finance"], access: "write", privileged: true },
      ],
      downstream_agents: ["clerk"],
    },
    travel: { hop_budget: 4, tools: [{ ref: "http:trips/book", data_classes: ["trips"] }] },
  },
};
export const manifests = [
  { agent: "planner", manifest: plannersManifest },
  {
    agent: "clerk",
    manifest: {
      scopes: { expenses: { hop_budget: 4, tools: [{ ref: "http:ledger/void", data_classes: ["finance"] }] } },
    },
  },
];

/** A folder that is gone after the test. */
export function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-drift-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// biome-ignore lint/suspicious/noExplicitAny: a black-box test reads any line.
export const linesIn = (file: string): any[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
