export type Value = string | number | boolean | null;

/** `{"...",...}` without nulls (PostgreSQL: Array Input and Output Syntax). */
export const arrayLiteral = (elements: readonly string[]): string =>
  `{${elements.map((element) => `"${element.replace(special, "\\$&")}"`).join(",")}}`;

/** `{"(...,...)",...}`: each row has a composite type's values in its order (PostgreSQL: Composite Types). */
export const rowsLiteral = (rows: readonly (readonly Value[])[]): string =>
  `{${rows.map((values) => `"(${values.map(field).join(",")})"`).join(",")}}`;

const special = /["\\]/g;

/** Needs no quotes. */
const isPlain = /^[\w.:/-]+$/;

/** Quoted for the row, and again for the array around it. An empty field is null. */
function field(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  return isPlain.test(value) ? value : `\\"${value.replace(special, "\\\\\\$&")}\\"`;
}
