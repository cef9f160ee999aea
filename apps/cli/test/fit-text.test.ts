import { expect, test } from "vitest";
import { fitText } from "../src/fit-text.ts";

test.each([
  ["what fits", "! a b", "! a b"],
  ["prose at blanks", "! discovery cannot read it", "! discovery\n  cannot\n  read it"],
  ["what is indented", "  a guess about it", "  a guess\n    about\n    it"],
  ["colors without a width", "\u001b[33m!\u001b[39m a guess b", "\u001b[33m!\u001b[39m a guess b"],
  ["no word that fits no line", "token ey012345678901234 b", "token ey012345678901234\n  b"],
  ["each line by itself", "one\ntwo three four", "one\ntwo three\n  four"],
])("a terminal of 11 columns gets %s", (_case, text, fitted) => {
  expect(fitText(text, 11)).toBe(fitted);
  expect(fitText(text, undefined)).toBe(text);
});
