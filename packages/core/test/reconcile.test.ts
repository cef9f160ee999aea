import { describe, expect, test } from "vitest";
import { agentManifest } from "../src/manifest.ts";
import { reconcile } from "../src/reconcile.ts";
import {
  declaring,
  files,
  isSilent,
  ledger,
  post,
  posting,
  posts,
  type ReconciliationRow,
  reconciliations,
  says,
} from "./reconciliations.ts";

const summary = ({ manifest, answers }: ReconciliationRow, overridden: boolean) => {
  const { status, diff } = reconcile(manifest, answers, overridden);
  return { status, diff: diff.map(({ ref, kind, field }) => `${ref} ${kind} ${field}`) };
};

describe.each(Object.entries(reconciliations))("%s", (_, rows) => {
  test.each(rows)("$name: $status", (row) => {
    expect(summary(row, false)).toEqual({ status: row.status, diff: row.diff });
  });

  test.each(rows)("$name: an override accepts what is unknown, never a contradiction", (row) => {
    const status = row.status === "needs_review" ? "attested" : row.status;
    expect(summary(row, true)).toEqual({ status, diff: row.diff });
  });

  test.each(rows)("$name: every remedy names what to change", (row) => {
    for (const { ref, remedy } of reconcile(row.manifest, row.answers, false).diff) {
      expect(remedy).toMatch(/^(Add|Declare|Remove|Make|Rename) .+\.$/);
      const named = [ref, '"discovery"', ...row.answers.map(({ source }) => source.url)];
      expect(named.some((name) => remedy.includes(name))).toBe(true);
    }
  });
});

test.each([
  [[], false],
  [[says(ledger)], true],
  [[says(ledger), isSilent(files)], false],
  [[isSilent(ledger)], false],
])("discovery is complete only where every source responded (%#)", (answers, whole) => {
  expect(reconcile(declaring({}), answers, false).discoveryOk).toBe(whole);
});

test("a contradiction under one scope takes precedence over unknown and confirmed ones under others", () => {
  const tool = (members: object) => ({ hop_budget: 4, tools: [{ ref: post, data_classes: ["finance"], ...members }] });
  const manifest = agentManifest.parse({
    scopes: { a: tool({ privileged: true }), b: tool({}), c: tool({ privileged: true }) },
  });
  const { status, diff } = reconcile(manifest, [posts(ledger, { privileged: true })], true);
  expect({ status, diff: diff.map(({ ref, kind }) => [ref, kind]) }).toEqual({
    status: "rejected",
    diff: [[post, "conflicts"]],
  });
});

test("an entry shows what was declared and what was discovered", () => {
  const { diff } = reconcile(
    posting({ data_classes: ["finance", "law"] }),
    [posts(ledger, { dataClasses: ["finance"] })],
    false,
  );
  expect(diff).toEqual([
    {
      ref: post,
      kind: "conflicts",
      field: "data_classes",
      declared: ["finance", "law"],
      discovered: ["finance"],
      remedy: `Remove law from the data classes of ${post}: its server does not advertise them.`,
    },
  ]);
});

describe("names that no manifest can declare", () => {
  const entriesOf = (...names: readonly string[]) => {
    const advertised = names.map((name) => ({ ref: `mcp:ledger/${name}` }));
    return reconcile(posting(), [says(ledger, { ref: post }, ...advertised)], false).diff;
  };

  test("have an entry that says what to do", () => {
    expect(entriesOf("void entry")).toEqual([
      {
        ref: "mcp:ledger/void entry",
        kind: "undeclarable",
        field: "ref",
        declared: null,
        discovered: "mcp:ledger/void entry",
        remedy:
          "Rename mcp:ledger/void entry at its server: every call of it is denied, since a manifest declares 1-255 of A-Z a-z 0-9 . _ : / @ # - alone.",
      },
    ]);
  });

  test.each([
    ["a control character", "a\u0000b", "a\ufffdb"],
    ["a direction mark", "a\u202eb", "a\ufffdb"],
    ["a line separator", "a\u2028b", "a\ufffdb"],
    ["half a character", "a\ud800b", "a\ufffdb"],
    ["letters of another script", "läsa", "läsa"],
    ["255 characters with its server", "x".repeat(245), `${"x".repeat(243)}…`],
    ["a million", "x".repeat(1_000_000), `${"x".repeat(243)}…`],
  ])("are shown as text that a report can hold: %s", (_what, name, text) => {
    expect(entriesOf(name).map(({ ref }) => ref)).toEqual([`mcp:ledger/${text}`]);
  });

  test("are twenty of a source at most, and the rest is counted", () => {
    const entries = entriesOf(...Array.from({ length: 23 }, (_, n) => `tool ${n}`));
    expect(entries).toHaveLength(20);
    expect(entries.filter(({ remedy }) => remedy.endsWith(" 3 more of its names are not listed here."))).toEqual([
      entries.at(-1),
    ]);
  });
});
