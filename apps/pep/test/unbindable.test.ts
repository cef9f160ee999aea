import { describe, expect, test } from "vitest";
import { startedFiles } from "./support/files.ts";

const json = "application/json";

const bodies: readonly [name: string, type: string, body: string | Buffer, text: RegExp, more?: object][] = [
  ["no body", json, "", /has no body to bind; send its parameters/],
  ["a form", "application/x-www-form-urlencoded", "a=1", /not declared as JSON; send one Content-Type/],
  ["another charset", `${json}; charset=utf-16`, "{}", /parameter that servers read differently.*charset=utf-8/],
  [
    "a coding",
    json,
    "{}",
    /compressed or otherwise encoded; .*without Content-Encoding/,
    { "content-encoding": "gzip" },
  ],
  ["Latin-1", json, Buffer.from('{"a":"\u00e9"}', "latin1"), /not UTF-8/],
  ["a byte order mark", json, "\ufeff{}", /byte order mark/],
  ["a form's text", json, "a=1", /not one JSON text/],
  ["trailing bytes", json, "{}x", /bytes beside it; .*nothing before or after/],
  ["an array", json, "[1]", /no object; send an object/],
  ["deep nesting", json, `{"a":${"[".repeat(64)}${"]".repeat(64)}}`, /deeper than 64/],
  ["a repeated member", json, '{"a":1,"a":2}', /repeats a member.*send each member once/],
  ["a number out of range", json, '{"a":1e400}', /number.*as text/],
  ["a number that changes", json, '{"a":9007199254740993}', /number.*as text/],
  ["a lone surrogate", json, String.raw`{"a":"\ud800"}`, /half a surrogate pair/],
];

describe("a privileged body that cannot be bound is 422, each with its own text and remedy", () => {
  test.each(bodies)("%s", async (_name, type, body, text, more = {}) => {
    const { url, headers, upstream, controlPlane } = await startedFiles();
    controlPlane.policies.set("http:files/any", { privileged: true });
    const options = { method: "POST", headers: { ...headers, "content-type": type, ...more }, body };
    const response = await fetch(`${url}/files/any`, options);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([422, "unbindable"]);
    expect(await response.json()).toMatchObject({
      error: { code: "unbindable", message: expect.stringMatching(text) },
    });
    expect(upstream.received).toHaveLength(0);
  });
});
