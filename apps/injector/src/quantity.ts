/** Kubernetes API, resource.Quantity, without exponents: the suffixes and their factors. */
const factors: Readonly<Record<string, number>> = Object.fromEntries([
  ["", 1],
  ["m", 0.001],
  ...["k", "M", "G", "T", "P", "E"].flatMap((letter, at) => [
    [letter, 1000 ** (at + 1)],
    [`${letter.toUpperCase()}i`, 1024 ** (at + 1)],
  ]),
]);

const written = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/;

/** In thousandths, the smallest amount of a resource; NaN where it is none. `1024Mi` and `1Gi` are one amount. */
export function amountOf(quantity: string | number): number {
  const [, digits = "", suffix = ""] = written.exec(String(quantity)) ?? [];
  return Math.round(Number(digits || Number.NaN) * (factors[suffix] ?? Number.NaN) * 1000);
}
