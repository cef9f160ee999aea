import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ApiError } from "../src/http/api-error.ts";
import { bodyCapBytes, readBody } from "../src/http/body.ts";
import { readForm } from "../src/http/form.ts";
import { decodeJson, readJsonText } from "../src/http/json-body.ts";
import { decodeQuery, readQuery } from "../src/http/query.ts";

const url = "http://plane.test/v1/token/exchange";
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The refusal, or undefined where there was none. */
async function refusal(read: () => unknown): Promise<ApiError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

describe("a form", () => {
  const form = (body: string | Uint8Array, contentType = "application/x-www-form-urlencoded", at = url) =>
    readForm(new Request(at, { method: "POST", body, headers: { "content-type": contentType } }));

  test("is read as names and values, plus signs as spaces, bytes as UTF-8", async () => {
    const reading = await form("a=1+2&b=%C3%A9%2B&c=&&d=x=y");
    expect(reading).toEqual({
      ok: true,
      fields: new Map([
        ["a", "1 2"],
        ["b", "é+"],
        ["c", ""],
        ["d", "x=y"],
      ]),
    });
  });

  test.each([
    ["application/x-www-form-urlencoded"],
    ["application/x-www-form-urlencoded;charset=UTF-8"],
    ['Application/X-WWW-Form-Urlencoded; charset="utf-8"'],
  ])("of type %s is accepted", async (contentType) => {
    expect(await form("a=1", contentType)).toMatchObject({ ok: true });
  });

  test.each([
    ["a parameter twice", "a=1&a=1"],
    ["a parameter twice, once encoded", "a=1&%61=2"],
    ["malformed percent-encoding", "a=%zz"],
    ["cut percent-encoding", "a=%4"],
    ["bytes that are not UTF-8, encoded", "a=%ff"],
    ["an overlong encoding", "a=%c0%ae"],
    ["bytes that are not UTF-8", new Uint8Array([0x61, 0x3d, 0xff])],
  ])("with %s is rejected", async (_name, body) => {
    expect(await form(body)).toMatchObject({ ok: false, status: 400 });
  });

  test.each([
    ["application/json"],
    ["multipart/form-data; boundary=x"],
    ["application/x-www-form-urlencoded; charset=utf-16"],
    ["application/x-www-form-urlencoded; charset=utf-8; x=y"],
    ["text/plain"],
    [""],
  ])("of type %j is rejected", async (contentType) => {
    expect(await form("a=1", contentType)).toMatchObject({ ok: false, status: 400 });
  });

  test("with parameters in the query is rejected", async () => {
    expect(await form("a=1", undefined, `${url}?b=2`)).toMatchObject({ ok: false, status: 400 });
  });

  test("over 64 KiB is refused as too large, since it is read before its sender is known", async () => {
    expect(await form(`a=${"x".repeat(65_536 - 2)}`)).toMatchObject({ ok: true });
    expect(await form(`a=${"x".repeat(65_536 - 1)}`)).toMatchObject({ ok: false, status: 413 });
  });

  test("has an error description in the character set of RFC 6749", async () => {
    const readings = [form("a=%zz"), form("a=1&a=1"), form("", "x/y"), form("", undefined, `${url}?q`)];
    for (const reading of await Promise.all(readings)) {
      expect(reading).toMatchObject({
        ok: false,
        description: expect.stringMatching(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/),
      });
    }
  });

  test("reads what a standard encoder writes", () =>
    fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ unit: "grapheme" })),
        async (fields) => {
          const reading = await form(new URLSearchParams(fields).toString());
          expect(reading).toEqual({ ok: true, fields: new Map(Object.entries(fields)) });
        },
      ),
    ));
});

describe("a JSON body", () => {
  const shape = z.strictObject({ name: z.string(), inner: z.strictObject({ n: z.number() }).optional() });
  const read = async (body: string | Uint8Array, contentType = "application/json") => {
    const request = new Request(url, { method: "POST", body, headers: { "content-type": contentType } });
    return decodeJson(await readJsonText(request), shape);
  };

  test("in UTF-8 is decoded", async () => {
    expect(await read('{"name":"é"}', "application/json; charset=UTF-8")).toEqual({ name: "é" });
  });

  test.each([
    ["text/plain"],
    ["application/json; charset=latin1"],
    ["application/merge-patch+json"],
    ["application/x-www-form-urlencoded"],
    ["application/jsonx"],
    [""],
  ])("of type %j is unsupported", async (contentType) => {
    expect(await refusal(() => read('{"name":"a"}', contentType))).toMatchObject({ code: "unsupported_media_type" });
  });

  test.each([
    ["empty", "", ""],
    ["cut short", '{"name":"a"', ""],
    ["followed by more", '{"name":"a"} x', ""],
    ["two texts", '{"name":"a"}{"name":"a"}', ""],
    ["with a byte order mark", utf8('\uFEFF{"name":"a"}'), ""],
    ["not UTF-8", new Uint8Array([...utf8('{"name":"'), 0xff, ...utf8('"}')]), ""],
    ["in UTF-16", new Uint8Array([0x7b, 0, 0x7d, 0]), ""],
    ["with a member twice", '{"name":"a","name":"a"}', ""],
    ["with a member twice, once escaped", '{"name":"a","\\u006eame":"b"}', ""],
    ["with a member twice inside", '{"name":"a","inner":{"n":1,"n":1}}', ""],
    ["with half a surrogate pair", '{"name":"\\ud800"}', ""],
    ["nested without end", "[".repeat(100_000), ""],
    ["of another type", '{"name":1}', "name"],
    ["of another type inside", '{"name":"a","inner":{"n":"1"}}', "inner.n"],
    ["with an unknown member", '{"name":"a","nmae":"b"}', ""],
    ["with an unknown member inside", '{"name":"a","inner":{"n":1,"m":1}}', "inner"],
    ["with a member named __proto__", '{"name":"a","__proto__":{}}', ""],
    ["an array", "[]", ""],
    ["null", "null", ""],
  ])("%s is rejected with the path of the fault", async (_name, body, path) => {
    const refused = await refusal(() => read(body));
    expect(refused).toMatchObject({ code: "invalid_request", details: { issues: [{ path }] } });
  });

  test("has faults that repeat no value", async () => {
    const refused = await refusal(() => read('{"name":["s3cr3t"],"inner":{"n":"s3cr3t"}}'));
    expect(JSON.stringify(refused?.envelope)).not.toContain("s3cr3t");
  });
});

describe("a body", () => {
  const chunked = (chunks: number, sizeBytes: number, onPull: () => void = () => {}) => {
    let sent = 0;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        onPull();
        if (sent++ === chunks) controller.close();
        else controller.enqueue(new Uint8Array(sizeBytes));
      },
    });
  };
  const request = (body: string | ReadableStream, headers = {}) =>
    new Request(url, { method: "POST", body, headers, duplex: "half" } as RequestInit);

  test("of exactly the cap is read", async () => {
    expect((await readBody(request(chunked(16, bodyCapBytes / 16)))).byteLength).toBe(bodyCapBytes);
  });

  test("over the cap is rejected while it streams", async () => {
    let pulls = 0;
    const endless = chunked(Number.POSITIVE_INFINITY, 65_536, () => pulls++);
    expect(await refusal(() => readBody(request(endless)))).toMatchObject({ code: "payload_too_large" });
    expect(pulls).toBeLessThan(20);
  });

  test("that declares more than the cap is rejected unread", async () => {
    const declared = request("x", { "content-length": String(bodyCapBytes + 1) });
    expect(await refusal(() => readBody(declared))).toMatchObject({ code: "payload_too_large" });
    expect(declared.bodyUsed).toBe(false);
  });

  test("that ends early is a malformed request", async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    expect(await refusal(() => readBody(request(broken)))).toMatchObject({ code: "invalid_request" });
  });
});

describe("a query", () => {
  const shape = z.strictObject({ limit: z.string().optional(), agent: z.string().optional() });
  const read = (query: string) => decodeQuery(readQuery(`http://plane.test/v1/x${query}`), shape);

  test.each([
    ["", {}],
    ["?", {}],
    ["?agent=a%20b&limit=1", { agent: "a b", limit: "1" }],
    ["?agent=a%2525#limit=2", { agent: "a%25" }],
  ])("%j is read", (query, want) => {
    expect(read(query)).toEqual(want);
  });

  test.each(["?agent=a&agent=a", "?agent=%zz", "?agent=%ff", "?agnet=a", "?__proto__=1", "?constructor=1", "?Agent=a"])(
    "%j is rejected",
    async (query) => {
      expect(await refusal(() => read(query))).toMatchObject({ code: "invalid_request" });
    },
  );
});
