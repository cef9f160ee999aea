import { type Exchange, post, request } from "../exchange.ts";

const bound = { target: "http:ledger/post", line: "POST /post", isPrivileged: true } as const;
const unbindable = { blocked: "unbindable", status: 422 } as const;

const utf8 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const refused = (name: string, body: string, headers: readonly string[] = []): Exchange => ({
  name: `a privileged body: ${name}`,
  send: post("/ledger/post", body, headers),
  want: unbindable,
});
const taken = (name: string, body: string, headers: readonly string[] = []): Exchange => ({
  name: `a privileged body: ${name}`,
  send: post("/ledger/post", body, headers),
  want: { passes: { ...bound, body } },
});

/** Cases 27 to 33 and 52, on the wire: the bound bytes are the bytes that are sent. */
export const bodies: readonly Exchange[] = [
  ...[
    ["a list", "[]"],
    ["a string", '"x"'],
    ["a number", "1"],
    ["null", "null"],
    ["nothing", ""],
    ["white space", "   "],
    ["two objects", "{}{}"],
    ["trailing bytes", '{"a":1}x'],
    ["a trailing NUL", '{"a":1}\0'],
    ["a comment", '{"a":1/**/}'],
    ["a trailing comma", '{"a":1,}'],
    ["single quotes", "{'a':1}"],
    ["a repeated member", '{"a":1,"a":2}'],
    ["a repeated member far in", '{"a":{"b":[{"c":1,"c":2}]}}'],
    ["a member repeated in another spelling", '{"a":1,"\\u0061":2}'],
    ["a number that becomes infinite", '{"a":1e400}'],
    ["an integer that loses digits", '{"a":9007199254740993}'],
    ["NaN", '{"a":NaN}'],
    ["a lone surrogate", '{"a":"\\ud800"}'],
    ["a lone surrogate as a name", '{"\\udc00":1}'],
    ["bytes that are not UTF-8", '{"a":"\xff"}'],
    ["an overlong slash", '{"a":"\xc0\xaf"}'],
    ["a byte order mark", utf8('\ufeff{"a":1}')],
    ["a control character in a string", '{"a":"\x01"}'],
    ["deep nesting", `{"a":${"[".repeat(65)}${"]".repeat(65)}}`],
  ].map(([name = "", body = ""]) => refused(name, body)),
  refused("compressed", "{}", ["Content-Encoding: gzip"]),
  refused("compressed twice, once by identity", "{}", ["Content-Encoding: identity", "Content-Encoding: gzip"]),
  ...[
    ["in another charset", "Content-Type: application/json; charset=utf-7"],
    ["in two charsets", "Content-Type: application/json; charset=utf-8; charset=utf-7"],
    ["in a charset behind a quoted one", 'Content-Type: application/json; x=";charset=utf-8"; charset=utf-7'],
    ["in an extended charset", "Content-Type: application/json; charset*=utf-8''utf-7"],
    ["declared as a form", "Content-Type: application/x-www-form-urlencoded"],
    ["declared as text", "Content-Type: text/plain"],
    ["declared as nothing", "X-Other: 1"],
  ].map(([name, type = ""]) => ({
    name: `a privileged body: ${name}`,
    send: request("POST /ledger/post", [type, "Content-Length: 2"], "{}"),
    want: unbindable,
  })),
  refused("of two types", "{}", ["Content-Type: application/x-www-form-urlencoded"]),
  refused("of another type for CGI", "{}", ["Content_Type: application/x-www-form-urlencoded"]),
  {
    name: "a privileged body: one byte over the cap by its length",
    send: post("/ledger/post", JSON.stringify({ a: "x".repeat(1017) })),
    want: { blocked: "body_too_large", status: 413 },
  },
  {
    name: "a privileged body: one byte over the cap, chunked",
    send: request(
      "POST /ledger/post",
      ["Transfer-Encoding: chunked"],
      `401\r\n${JSON.stringify({ a: "x".repeat(1017) })}\r\n0\r\n\r\n`,
    ),
    want: { blocked: "body_too_large", status: 413 },
  },
  {
    name: "a privileged body: shorter than its length",
    send: post("/ledger/post", '{"a":1}').replace("Content-Length: 7", "Content-Length: 70"),
    agent: "ends",
    want: { malformed: [400] },
  },
  taken("an object", '{"a":1,"b":[true,null,"x"]}'),
  taken("an empty object", "{}"),
  taken("exactly the cap", JSON.stringify({ a: "x".repeat(1016) })),
  taken("surrounding white space, kept", ' \n{ "a" : 1.0 }\t\n'),
  taken("a negative zero and a fraction, kept", '{"a":-0,"b":1.50,"c":1e2}'),
  taken("members named like Object's own", '{"__proto__":{"admin":true},"constructor":{"prototype":{}}}'),
  taken("text beyond ASCII", utf8('{"name":"Żółć 💶"}')),
  taken("escapes, kept", '{"a":"\\u0041\\/"}'),
  {
    name: "a privileged body: chunked, bound as one body",
    send: request(
      "POST /ledger/post",
      ["Content-Type: application/json", "Transfer-Encoding: chunked"],
      '4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n',
    ),
    want: { passes: { ...bound, body: '{"a":1}', headers: ["content-length: 7"], without: ["transfer-encoding"] } },
  },
  {
    name: "an unprivileged body passes unread",
    send: post("/ledger/send", '\x00\xff{"a":1,"a":2}'),
    want: { passes: { target: "http:ledger/send", line: "POST /send", body: '\x00\xff{"a":1,"a":2}' } },
  },
  {
    name: "an unprivileged body may exceed the cap",
    send: post("/ledger/send", "x".repeat(200_000)),
    want: { passes: { target: "http:ledger/send", line: "POST /send", body: "x".repeat(200_000) } },
  },
];
