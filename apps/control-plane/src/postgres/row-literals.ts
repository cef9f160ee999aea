export type Value = string | number | boolean | null;

/** `{"...",...}` of what is never null (PostgreSQL: Array Input and Output Syntax). */
export const arrayLiteral = (elements: readonly string[]): string => `{${elements.map(quoted).join(",")}}`;

/** `(...,...)` of a composite type's values, in its order (PostgreSQL: Composite Type Input and Output Syntax). */
export const rowLiteral = (values: readonly Value[]): string => `(${values.map(field).join(",")})`;

/** Most values hold nothing that would have to be quoted, here and again in the array around them. */
const isPlain = /^[\w.:/-]+$/;

/** Nothing at all stands for null, and only for that. */
function field(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  return isPlain.test(value) ? value : quoted(value);
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
