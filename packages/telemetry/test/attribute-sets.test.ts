import fc from "fast-check";
import { expect, test } from "vitest";
import { createAttributeSets } from "../src/attribute-sets.ts";
import { attributesOf } from "./support/collector.ts";

const fact = fc.oneof(
  fc.tuple(fc.constant("authz.outcome"), fc.constantFrom("allow", "deny", "perhaps")),
  fc.tuple(fc.constant("authz.deny_reason"), fc.constantFrom("TAINT_BLOCKED", "BAD_MOOD")),
  fc.tuple(fc.constant("authz.hop"), fc.constantFrom(0, 1, 2, "1", true)),
  fc.tuple(fc.constant("authz.enforced"), fc.constantFrom(true, false, 1, "true")),
  fc.tuple(fc.constant("authz.data_class"), fc.constantFrom("finance.entries", "a?b", '"')),
);
const span = fc.array(fact, { maxLength: 6 });

const admitted: Readonly<Record<string, readonly unknown[]>> = {
  "authz.outcome": ["allow", "deny"],
  "authz.deny_reason": ["TAINT_BLOCKED"],
  "authz.hop": [1, 2],
  "authz.enforced": [true, false],
  "authz.data_class": ["finance.entries"],
};

/** By itself, without the spans before it. */
function alone(facts: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const attributes = Object.fromEntries(facts.filter(([key, value]) => admitted[key]?.includes(value)));
  const { "authz.outcome": outcome, "authz.deny_reason": reason, ...rest } = attributes;
  if (outcome === "deny" && reason !== undefined) return attributes;
  return outcome === "allow" ? { ...rest, "authz.outcome": outcome } : rest;
}

test.each([1, 3, 4096])("with %i sets kept, a span has its own facts, whatever spans came before it", (max) => {
  const sharedBy = fc.array(span, { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(sharedBy, (spans) => {
      const sets = createAttributeSets(max);
      for (const facts of spans) {
        const json = sets.jsonOf(facts.reduce((set, [key, value]) => sets.add(set, key, value), sets.none()));
        expect(attributesOf(JSON.parse(`[${json}]`))).toEqual(alone(facts));
      }
    }),
  );
});

test("no more sets are kept than allowed", () => {
  const sets = createAttributeSets(10);
  const first = sets.none();
  const kept = sets.add(first, "authz.hop", 1);
  expect(sets.add(sets.none(), "authz.hop", 1)).toBe(kept);
  for (let hop = 2; hop <= 10; hop += 1) sets.add(sets.none(), "authz.hop", hop);
  expect(sets.none()).not.toBe(first);
  expect(sets.none().larger.size).toBe(0);
});
