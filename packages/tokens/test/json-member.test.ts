import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memberText, withMemberText } from "../src/json-member.ts";

describe("a member's text", () => {
  test.each([
    ['{"doc":1.0}', "1.0"],
    ['{"doc":1e3,"b":2}', "1e3"],
    [' {\n "a" : [ {"doc":0} , "]}" ] ,\t"doc" : { "x" : "é\\"}" , "y":[ ] } }', '{ "x" : "é\\"}" , "y":[ ] }'],
    ['{"\\u0064oc":-0}', "-0"],
    ['{"a":{"doc":1},"doc":"\\\\"}', '"\\\\"'],
    ['{"doc":null}', "null"],
    ["{}", undefined],
    ['{"a":"doc"}', undefined],
  ])("of %s is %s", (json, want) => {
    expect(memberText(json, "doc")).toBe(want);
  });

  test("is the exact slice of the document, whatever surrounds it", () =>
    fc.assert(
      fc.property(fc.json(), fc.dictionary(fc.string(), fc.jsonValue()), (text, others) => {
        const { doc: _doc, ...members } = others;
        const json = withMemberText(members, "doc", text);
        expect(memberText(json, "doc")).toBe(text);
        expect(JSON.parse(json)).toEqual({ ...JSON.parse(JSON.stringify(members)), doc: JSON.parse(text) });
      }),
    ));
});
