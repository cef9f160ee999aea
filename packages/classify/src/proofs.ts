import { testOf } from "./conditions.ts";
import { folded } from "./folded.ts";
import { hostOfUrl } from "./host.ts";
import { isBelow } from "./prefix.ts";
import type { Condition, ConditionName } from "./rules.ts";

/** What a value can be. No condition holds for an object. */
const everyKind = ["string", "number", "boolean", "null", "list", "missing"] as const;
type Kind = (typeof everyKind)[number];

const kindOf = (value: unknown): Kind => (value === null ? "null" : (typeof value as Kind));

const kindsByName: { readonly [N in Exclude<ConditionName, "equals" | "one_of">]: readonly Kind[] } = {
  min: ["number"],
  max: ["number"],
  prefix: ["string"],
  host: ["string"],
  pattern: ["string"],
  max_length: ["string", "list"],
  absent: ["missing"],
  all_of_items: ["list"],
};

const kindsAt = (pointer: string): readonly Kind[] => {
  if (pointer.startsWith(":")) return ["string"];
  return pointer.startsWith("?") ? ["string", "missing"] : everyKind;
};

/** The values for which a condition holds, where they are listed. */
export function valuesOf(condition: Condition): readonly unknown[] | undefined {
  const { equals, one_of } = condition;
  const listed = one_of ?? (equals === undefined ? undefined : [equals]);
  return listed?.filter(testOf(condition));
}

function kindsOf(pointer: string, condition: Condition): readonly Kind[] {
  const values = valuesOf(condition);
  return kindsAt(pointer).filter((kind) =>
    values
      ? values.some((value) => kindOf(value) === kind)
      : Object.keys(condition).every((name) => kindsByName[name as keyof typeof kindsByName].includes(kind)),
  );
}

/** A condition at a pointer. */
export type Clause = readonly [pointer: string, condition: Condition];

/** Proven: no call satisfies both. A clause that no call satisfies contradicts itself. */
export function contradict([pointer, one]: Clause, [otherPointer, other]: Clause): boolean {
  const [kinds, otherKinds] = [kindsOf(pointer, one), kindsOf(otherPointer, other)];
  const canBothBeMissing = kinds.includes("missing") && otherKinds.includes("missing");
  if (pointer === otherPointer) return !kinds.some((kind) => otherKinds.includes(kind)) || areDisjoint(one, other);
  if (pointer.startsWith(":") || otherPointer.startsWith(":")) return false;
  // A member in another case makes both unclear.
  if (folded(pointer) === folded(otherPointer)) return !canBothBeMissing;
  if (otherPointer.startsWith(`${pointer}/`)) return !kinds.includes("list") && !canBothBeMissing;
  if (pointer.startsWith(`${otherPointer}/`)) return !otherKinds.includes("list") && !canBothBeMissing;
  return false;
}

function areDisjoint(one: Condition, other: Condition): boolean {
  const [values, otherValues] = [valuesOf(one), valuesOf(other)];
  if (values) return !values.some(testOf(other));
  if (otherValues) return !otherValues.some(testOf(one));
  const least = Math.max(one.min ?? Number.NEGATIVE_INFINITY, other.min ?? Number.NEGATIVE_INFINITY);
  const most = Math.min(one.max ?? Number.POSITIVE_INFINITY, other.max ?? Number.POSITIVE_INFINITY);
  if (least > most) return true;
  const [prefixes, hosts] = [definedOf(one.prefix, other.prefix), definedOf(hostsOf(one), hostsOf(other))];
  return (
    prefixes.some((prefix) => prefixes.some((each) => !isBelow(prefix)(each) && !isBelow(each)(prefix))) ||
    hosts.some((list) => hosts.some((each) => !each.some((host) => list.includes(host)))) ||
    prefixes.some((prefix) => hosts.some((list) => !list.includes(hostOfUrl(prefix) ?? "")))
  );
}

const definedOf = <T>(...values: readonly (T | undefined)[]): readonly T[] =>
  values.flatMap((value) => (value === undefined ? [] : [value]));

const hostsOf = ({ host }: Condition): readonly string[] | undefined => (typeof host === "string" ? [host] : host);

/** Proven: every value that satisfies the first satisfies the second. */
export function implies(strong: Condition, weak: Condition): boolean {
  const values = valuesOf(strong);
  if (values) return values.every(testOf(weak));
  return Object.keys(weak).every((name) => impliesOne(strong, weak, name as ConditionName));
}

function impliesOne(strong: Condition, weak: Condition, name: ConditionName): boolean {
  switch (name) {
    case "equals":
    case "one_of":
      return false;
    case "min":
      return strong.min !== undefined && strong.min >= (weak.min ?? 0);
    case "max":
      return strong.max !== undefined && strong.max <= (weak.max ?? 0);
    case "prefix":
      return strong.prefix !== undefined && isBelow(weak.prefix ?? "")(strong.prefix);
    case "host":
      return hostsOf(strong)?.every((host) => hostsOf(weak)?.includes(host)) === true;
    case "pattern":
      return strong.pattern === weak.pattern;
    case "max_length":
      return strong.max_length !== undefined && strong.max_length <= (weak.max_length ?? 0);
    case "absent":
      return strong.absent === true;
    case "all_of_items":
      return strong.all_of_items !== undefined && implies(strong.all_of_items, weak.all_of_items ?? {});
  }
}
