import { attributeWriters } from "./attribute-json.ts";

/** Attributes with their values, shared by all spans that have them. */
export interface AttributeSet {
  readonly texts: ReadonlyMap<string, string>;
  /** By attribute and value: this set with that value. */
  readonly larger: Map<string, Map<unknown, AttributeSet>>;
  json: string | undefined;
}

/** Those of a hop have some thirty; of 3 KiB each, they take 12 MiB at most. */
const maxSets = 4096;

const setOf = (texts: ReadonlyMap<string, string>): AttributeSet => ({ texts, larger: new Map(), json: undefined });

const denied = attributeWriters.get("authz.outcome")?.("deny");

/** A deny has a reason and a reason a deny, else the span has neither (docs/reference/telemetry.md#rules). */
function settled(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const isDeny = texts.get("authz.outcome") === denied;
  const hasReason = texts.has("authz.deny_reason");
  if (isDeny === hasReason) return texts;
  const rest = new Map(texts);
  rest.delete(isDeny ? "authz.outcome" : "authz.deny_reason");
  return rest;
}

/** Most attributes of a span are those of others: each set of them is checked once, and is JSON once. */
export function createAttributeSets(max = maxSets) {
  let none = setOf(new Map());
  let count = 0;

  function enlarged(set: AttributeSet, key: string, value: unknown): AttributeSet {
    const text = attributeWriters.get(key)?.(value);
    if (text === undefined) return set;
    const made = setOf(new Map(set.texts).set(key, text));
    const byValue = set.larger.get(key);
    if (byValue) byValue.set(value, made);
    else set.larger.set(key, new Map([[value, made]]));
    count += 1;
    if (count >= max) [none, count] = [setOf(new Map()), 0];
    return made;
  }

  return {
    none: () => none,
    /** The set with this value, which replaces another of the same attribute; itself where the contract does not admit it. */
    add: (set: AttributeSet, key: string, value: unknown): AttributeSet =>
      set.larger.get(key)?.get(value) ?? enlarged(set, key, value),
    /** Members of a JSON list, without brackets. */
    jsonOf(set: AttributeSet): string {
      set.json ??= [...settled(set.texts).values()].join();
      return set.json;
    },
  };
}
