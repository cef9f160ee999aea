import { mutationsOf, testsOf } from "./mutation.ts";

const decide = testsOf("packages/core/test/decide.properties.test.ts");
const table = decide("the verdict is that of the decision table, read row by row over the stored document");
const reconcile = testsOf("packages/core/test/reconcile.test.ts");
const owned = testsOf("packages/core/test/owned-names.test.ts");

export const ofDecisions = mutationsOf("packages/core/src", [
  [
    "session-end-ignored",
    "decide.ts",
    'return present.session.revoked ? "SESSION_REVOKED" : undefined;',
    "return undefined;",
    table,
  ],
  [
    "revocation-unchecked",
    "decide.ts",
    'return anyHasStatus(input, "revoked") ? "AGENT_REVOKED" : undefined;',
    "return undefined;",
    table,
  ],
  [
    "quarantine-unchecked",
    "decide.ts",
    'if (anyHasStatus(input, "quarantined")) return "AGENT_QUARANTINED";',
    "",
    table,
  ],
  [
    "lenders-unchecked",
    "decide.ts",
    "(lenders.some(isDenied) && !lenders.some((agent) => isInGoodStanding(agent, present)))",
    "false",
    table,
  ],
  ["blocks-unchecked", "decide.ts", 'return covered ? "TARGET_BLOCKED" : undefined;', "return undefined;", table],
  [
    "budget-off-by-one",
    "decide.ts",
    "if (hop.hop > (budget ?? policy.policy.document.hop_budget))",
    "if (hop.hop > (budget ?? policy.policy.document.hop_budget) + 1)",
    table,
  ],
  ["narrowing-unchecked", "decide.ts", 'return within ? undefined : "DATA_CLASS_WIDENED";', "return undefined;", table],
  [
    "taint-unchecked",
    "decide.ts",
    'return taint.taint === "untrusted_external" && tool !== undefined && !tool.acceptsTaint ? "TAINT_BLOCKED" : undefined;',
    "return undefined;",
    table,
  ],
  [
    "a-list-for-a-tool",
    "data-class.ts",
    '!dataClass.includes(" ") && isWithin(dataClass, declared);',
    "isWithin(dataClass, declared);",
    testsOf("test/vectors/decide.test.ts")("$name"),
  ],
  [
    "undeclared-denials-revealed",
    "decide.ts",
    'declared && hop.targetKind === "agent" ? hop.target : undefined;',
    'hop.targetKind === "agent" ? hop.target : undefined;',
    decide("the verdict on an undeclared target does not depend on whether it is revoked, quarantined or blocked"),
  ],
  [
    "classes-by-prefix",
    "data-class.ts",
    'child.startsWith(parent) && child[parent.length] === "."',
    "child.startsWith(parent)",
    testsOf("packages/core/test/data-class.test.ts")("covering compares whole segments"),
  ],
  [
    "observed-denies-enforced",
    "decide.ts",
    'return { enforced: verdict.outcome === "allow" ? observed : noEffect, observed };',
    "return { enforced: observed, observed };",
    testsOf("test/vectors/marks.test.ts")("the effects of a decided call > $name"),
  ],
  [
    "taint-not-passed-back",
    "taint.ts",
    "markDelegators(added, [...delegations, ...current], mark);",
    "",
    testsOf("packages/core/test/taint.properties.test.ts")(
      "marks > reach every agent that delegated to a marked agent",
    ),
  ],
  [
    "an-allow-for-another-target",
    "exchange.ts",
    "record.target === request.target &&",
    "",
    testsOf("test/conformance/spec-exchange.test.ts")(
      "an exchange that differs from its allow is invalid_grant, and spends nothing > %s",
    ),
  ],
  [
    "override-of-a-contradiction",
    "reconcile.ts",
    'if (diff.some(isHard)) return "rejected";',
    'if (diff.some(isHard) && !overridden) return "rejected";',
    reconcile("$name: an override accepts what is unknown, never a contradiction"),
  ],
  [
    "any-origin-speaks",
    "owned-names.ts",
    "if (owners.includes(origin)) return [];",
    "if (owners.length > 0) return [];",
    owned("the name of a server > needs a person for another origin %s"),
  ],
  [
    "destructive-as-harmless",
    "reconcile.ts",
    "if (discovered.privileged === true && !declared.privileged) {",
    "if (discovered.privileged === undefined && !declared.privileged) {",
    reconcile("%s > $name: $status"),
  ],
]);
