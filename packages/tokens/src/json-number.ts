/** A printed double has at most this many significant digits (IEEE 754: 17 distinguish any two doubles). */
const doubleDigits = 17;

/** Below it a double holds fewer digits, down to none. */
const smallestNormal = 2 ** -1022;

/** Integers and decimals of up to this many characters are exact in a double. */
const safeLength = 15;
const exponent = /e/i;

/**
 * Whether a JSON number survives canonicalization, that is, whether a reader with doubles (RFC 8785 section 3.2.2.3)
 * and one with exact decimals see the same value. `1.0` is `1` and `-0` is `0`. Not so: `1e400` and `1e-400`, which
 * become infinity and zero; `9007199254740993`, which becomes its neighbour; a fraction with more digits than a double
 * holds. A fraction of up to 17 digits is how some writers spell a double, and names it.
 */
export function survivesCanonicalization(literal: string): boolean {
  if (literal.length <= safeLength && !exponent.test(literal)) return true;
  const double = Number(literal);
  if (!Number.isFinite(double)) return false;
  const written = toDecimal(literal);
  const canonical = toDecimal(String(double));
  if (written.digits === canonical.digits && written.exponent === canonical.exponent) return true;
  const spellsDouble = written.digits.length <= doubleDigits && Math.abs(double) >= smallestNormal;
  // A fraction that becomes a whole number has lost what made it one.
  return spellsDouble && canonical.exponent < 0;
}

/** The value `digits * 10^exponent`; digits hold neither leading nor trailing zeros and are empty for zero. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

function toDecimal(literal: string): Decimal {
  const [mantissa = "", power = "0"] = literal.replace(/^-/, "").toLowerCase().split("e");
  const [integer = "", fraction = ""] = mantissa.split(".");
  const digits = withoutLeadingZeros(integer + fraction);
  const significant = withoutTrailingZeros(digits);
  if (significant === "") return { digits: "", exponent: 0 };
  return { digits: significant, exponent: Number(power) - fraction.length + digits.length - significant.length };
}

const withoutLeadingZeros = (digits: string): string => digits.replace(/^0+/, "");

// A loop, because /0+$/ is quadratic on a long run of zeros that does not end the text.
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}
