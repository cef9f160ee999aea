import { decide, denyReasons, isRecoverable, runChecks } from "@svc/core";
import { describe, expect, test } from "vitest";
import { type DecisionVector, decisionTables, decisionVectors, toQuestion } from "./src/index.ts";

function verdictOf(vector: DecisionVector) {
  const { policy, hop, present } = toQuestion(vector);
  return decide(policy, hop, present);
}

describe.each(Object.entries(decisionTables))("%s", (_, vectors) => {
  test.each(vectors)("$name", (vector) => {
    const { want } = vector;
    const verdict = verdictOf(vector);
    const { taint, source, privileged, guaranteeLevel } = verdict.facts;
    expect({
      ...(verdict.outcome === "deny"
        ? { outcome: "deny", reason: verdict.reason, consentableScopes: verdict.consentableScopes }
        : { outcome: "allow" }),
      taint,
      taintSource: source,
      privileged,
      ...(want.guaranteeLevel !== undefined && { guaranteeLevel }),
    }).toEqual({
      ...(want.outcome === "deny" && { consentableScopes: [] }),
      taint: "trusted_internal",
      taintSource: null,
      privileged: false,
      ...want,
    });
  });
});

test("the table covers an allow and every deny reason", () => {
  const answers = new Set(decisionVectors.map(({ want }) => want.reason ?? want.outcome));
  expect([...denyReasons, "allow"].filter((answer) => !answers.has(answer as never))).toEqual([]);
});

test("every row has its own name", () => {
  const names = Object.entries(decisionTables).flatMap(([title, rows]) => rows.map(({ name }) => `${title}: ${name}`));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(decisionTables["order of checks"] ?? [])("$name: each check alone denies", (vector) => {
  const { policy, hop, present } = toQuestion(vector);
  const failing = runChecks(policy, hop, present).filter(({ reason }) => reason !== undefined);
  expect(failing.length).toBeGreaterThan(1);
});

test("only a missing consent is recoverable", () => {
  expect(denyReasons.filter(isRecoverable)).toEqual(["SCOPE_NOT_CONSENTED"]);
});
