import { expect, test } from "vitest";
import {
  checkKinds,
  checkNames,
  type DenyReasonRow,
  denyReasons,
  denyReasonTable,
  isDataClassDeclared,
} from "../src/deny-reason.ts";

const having = (holds: (row: DenyReasonRow) => boolean) =>
  denyReasons.filter((reason) => holds(denyReasonTable[reason])).join(" ");

test("reasons are in the order of the checks, and every check has one", () => {
  const first = denyReasons.map((reason) => checkNames.indexOf(denyReasonTable[reason].checks[0]));
  expect(first).toEqual(first.toSorted((a, b) => a - b));
  expect(new Set(denyReasons.flatMap((reason) => denyReasonTable[reason].checks))).toEqual(new Set(checkNames));
});

test("renewal runs the four checks of the caller (docs/reference/routes.md#renewal)", () => {
  const names = checkNames.filter((name) => checkKinds[name] === "caller");
  expect(names).toEqual(["session", "revocation", "identity", "block"]);
});

test("what follows from a reason", () => {
  expect(having(({ isRecoverable }) => isRecoverable)).toBe("SCOPE_NOT_CONSENTED");
  expect(having(({ isFinal }) => isFinal)).toBe("SESSION_EXPIRED SESSION_REVOKED AGENT_REVOKED");
  expect(having(({ logLevel }) => logLevel === "info")).toBe(denyReasons.join(" "));
  expect(having(({ remedy }) => "change" in remedy)).toBe(
    "TARGET_NOT_DECLARED SCOPE_NOT_CONSENTED DATA_CLASS_NOT_DECLARED TAINT_BLOCKED",
  );
  expect([null, ...denyReasons].filter(isDataClassDeclared)).toEqual([null, "DATA_CLASS_WIDENED", "TAINT_BLOCKED"]);
});
