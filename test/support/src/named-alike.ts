const identifier = /^[\da-f]{8}-[\da-f-]{27}$|^\\x[\da-f]{64}$|^[\da-f]{16}$|^[\da-f]{32}$|^[\w-]{43}$/;
const instant = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/;
const token = /^eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+$/;
/** Members whose number is a time, or a place in a log that others write to as well. */
const timed = /^(time|iat|exp|nbf|seq)$/;

/**
 * The same, with every identifier and hash replaced by a name for it, in order of appearance, every time by the word, and
 * every token by its claims: two records of the same acts are equal, and one that swaps two identifiers is not.
 */
export function namedAlike<T>(told: T): T {
  const names = new Map<string, string>();
  const nameOf = (text: string): string => {
    const known = names.get(text) ?? `id ${names.size + 1}`;
    names.set(text, known);
    return known;
  };
  const named = (value: unknown, member = ""): unknown => {
    if (Array.isArray(value)) return value.map((each) => named(each));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, named(each, key)]));
    }
    if (timed.test(member)) return member;
    if (typeof value !== "string") return value;
    if (identifier.test(value)) return nameOf(value);
    if (instant.test(value)) return "time";
    const payload = token.exec(value)?.[1];
    return payload === undefined ? value : named(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")));
  };
  return named(told) as T;
}
