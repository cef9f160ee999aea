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
      expect(remedy).toMatch(/^(Add|Declare|Remove|Make) .+\.$/);
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
