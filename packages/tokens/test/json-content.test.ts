import { expect, test } from "vitest";
import { contentFaultOf, isPlainJson } from "../src/index.ts";

const json = "application/json";

test.each([
  json,
  "Application/JSON",
  "application/json;charset=utf-8",
  'application/json; charset="UTF-8"',
  "application/vnd.api+json",
  "application/vnd.api+json; charset=utf-8",
])("a body of type %s is JSON to every server", (type) => {
  expect(isPlainJson({ contentType: [type], contentEncoding: [] })).toBe(true);
  expect(isPlainJson({ contentType: [type], contentEncoding: ["Identity"] })).toBe(true);
});

test.each([
  "",
  "text/json",
  "image/svg+json",
  "application/jsonp",
  "application/json+x",
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded+json",
  "application/form-data+json",
  "application/json, text/plain",
  "application/json;",
  "application/json ;charset=utf-8",
  "application/json;\tcharset=utf-8",
  " application/json",
  "application/json\n",
  "application/json; charset=utf8",
  "application/json; charset=utf-16",
  "application/json; charset=utf-7; charset=utf-8",
  "application/json; charset=utf-8; charset=utf-7",
  "application/json; charset=utf-8; charset=utf-8",
  'application/json; x=";charset=utf-8"; charset=utf-7',
  'application/json; charset="utf-8',
  'application/json; charset="utf\\-8"',
  "application/json; charset='utf-8'",
  "application/json; charset*=utf-8''utf-7",
  "application/json; charset=utf-8; boundary=x",
])("a body of type %j may be read otherwise", (type) => {
  expect(isPlainJson({ contentType: [type], contentEncoding: [] })).toBe(false);
});

test.each([
  ["no type", [], []],
  ["a type that repeats", [json, json], []],
  ["a compressed body", [json], ["gzip"]],
  ["a coding that repeats", [json], ["identity", "identity"]],
])("%s is not taken for JSON", (_name, contentType, contentEncoding) => {
  expect(isPlainJson({ contentType, contentEncoding })).toBe(false);
});

test.each([
  ["type", [], []],
  ["type", ["text/plain"], []],
  ["type", ["application/x-www-form-urlencoded; charset=utf-8"], ["gzip"]],
  ["type", [json, json], []],
  ["parameter", ["application/json; charset=utf-16"], []],
  ["parameter", ["application/vnd.api+json ;charset=utf-8"], []],
  ["parameter", ["application/json; charset=utf-8; x=1"], ["gzip"]],
  ["coding", [json], ["gzip"]],
  [undefined, [json], []],
])("names what is wrong: %s of %j with %j", (fault, contentType, contentEncoding) => {
  expect(contentFaultOf({ contentType, contentEncoding })).toBe(fault);
});
