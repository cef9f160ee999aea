export type Value = string | number | boolean | null;

/** `{"...",...}` of what is never null (PostgreSQL: Array Input and Output Syntax). */
export const arrayLiteral = (elements: readonly string[]): string =>
  `{${elements.map((element) => `"${element.replace(special, "\\$&")}"`).join(",")}}`;

/** `{"(...,...)",...}` of rows, each a composite type's values in its order (PostgreSQL: Composite Types). */
export const rowsLiteral = (rows: readonly (readonly Value[])[]): string =>
  `{${rows.map((values) => `"(${values.map(field).join(",")})"`).join(",")}}`;

const special = /["\\]/g;

/** Most values hold nothing that either notation knows. */
const isPlain = /^[\w.:/-]+$/;

/** Quoted for the row, and that for the array around it. Nothing at all stands for null, and only for that. */
function field(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  return isPlain.test(value) ? value : `\\"${value.replace(special, "\\\\\\$&")}\\"`;
}
