import fc from "fast-check";
import { expect, test } from "vitest";
import { survivesCanonicalization } from "../src/json-number.ts";

const survivors = [
  "0",
  "-0",
  "0.0",
  "-0.0e5",
  "0e99999999999999999999",
  "1",
  "1.0",
  "1.00e0",
  "100e-2",
  "1E2",
  "0.1",
  "4.50",
  "2e-3",
  "1e30",
  "1E30",
  "1e21",
  "9007199254740991",
  "9007199254740992",
  "9007199254740994",
  "-9007199254740992.0",
  "5e-324",
  "1.7976931348623157e308",
  "295147905179352830000",
  "0.000000000000000000000000001",
  // A double spelled with 17 digits, as C's %.17g writes it, and RFC 8785's own example.
  "0.10000000000000001",
  "333333333.33333329",
];
test.each(survivors)("%s survives canonicalization", (literal) => {
  expect(survivesCanonicalization(literal)).toBe(true);
});

const changed = [
  "1e400",
  "-1e400",
  "1e99999999999999999999",
  "1.8e308",
  `1${"0".repeat(400)}`,
  "1e-400",
  "3e-324",
  "1.2345678901234567e-310",
  "1e-99999999999999999999",
  "9007199254740993",
  "-9007199254740993",
  "9007199254740993.0",
  "900719925474099300e-2",
  "12345678901234567890",
  "4503599627370497.25",
  "4503599627370497.2",
  "1.0000000000000000000001",
  "0.9999999999999999999999",
  "1.1000000000000000888",
  "0.1000000000000000055511151231257827",
  "3.14159265358979323846",
];
test.each(changed)("%s does not survive canonicalization", (literal) => {
  expect(survivesCanonicalization(literal)).toBe(false);
});

/** The literal's value as an integer multiple of 10^-400, and whether it is whole: exact, and slow. */
function exactly(literal: string): { value: bigint; whole: boolean; digits: number } {
  const [, sign = "", integer = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const scale = 400 + Number(power) - fraction.length;
  const value = BigInt(`${sign}${integer}${fraction}`) * 10n ** BigInt(scale);
  const digits = (integer + fraction).replace(/^0+/, "").replace(/0+$/, "").length;
  return { value, whole: value % 10n ** 400n === 0n, digits };
}

test("a literal survives exactly if its decimal value does, or it is a fraction of at most 17 digits", () => {
  const literal = fc.stringMatching(/^-?(0|[1-9]\d{0,22})(\.\d{1,22})?([eE][+-]?\d{1,2})?$/);
  fc.assert(
    fc.property(literal, (text) => {
      const before = exactly(text);
      const after = exactly(String(Number(text)));
      const spelled = !before.whole && !after.whole && before.digits <= 17;
      expect(survivesCanonicalization(text)).toBe(before.value === after.value || spelled);
    }),
    { numRuns: 2000 },
  );
});

test("every finite double survives as JSON.stringify writes it", () => {
  const double = fc.double({ noDefaultInfinity: true, noNaN: true });
  fc.assert(
    fc.property(double, (value) => {
      expect(survivesCanonicalization(JSON.stringify(value))).toBe(true);
    }),
  );
});
