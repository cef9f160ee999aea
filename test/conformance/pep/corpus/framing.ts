import { acting, type Exchange, request } from "../exchange.ts";

/**
 * Case 53: bytes that two readers could frame differently are no request. The parser responds and closes before any
 * decision (RFC 9112 sections 2.2, 5 and 6.3).
 */
const bad = (name: string, send: string, malformed: readonly number[] = [400]): Exchange => ({
  name,
  send,
  want: { malformed },
});

const sending = (headers: readonly string[], body: string): string => request("POST /ledger/send", headers, body);
const chunked = (body: string, headers: readonly string[] = []): string =>
  sending(["Transfer-Encoding: chunked", ...headers], body);
const raw = (line: string, ...headers: readonly string[]): string =>
  [line, "Host: {own}", ...acting, ...headers, "", ""].join("\r\n");

const smuggled = "GET /ledger/admin HTTP/1.1\r\nHost: x.yz\r\n\r\n";
const unread = { target: "http:ledger/send", line: "POST /send" } as const;

export const framing: readonly Exchange[] = [
  bad("both framings", sending(["Transfer-Encoding: chunked", "Content-Length: 3"], "0\r\n\r\n")),
  bad("both framings, the length first", sending(["Content-Length: 3", "Transfer-Encoding: chunked"], "0\r\n\r\n")),
  bad("two lengths", sending(["Content-Length: 3", "Content-Length: 4"], "abcd")),
  bad("two equal lengths", sending(["Content-Length: 3", "Content-Length: 3"], "abc")),
  bad("a list of lengths", sending(["Content-Length: 3, 3"], "abc")),
  bad("two numbers as a length", sending(["Content-Length: 3 3"], "abc")),
  bad("a signed length", sending(["Content-Length: +5"], "abcde")),
  bad("a negative length", sending(["Content-Length: -1"], "")),
  bad("a hexadecimal length", sending(["Content-Length: 0x3"], "abc")),
  bad("a fractional length", sending(["Content-Length: 3.0"], "abc")),
  bad("an exponential length", sending(["Content-Length: 3e0"], "abc")),
  bad("an empty length", sending(["Content-Length:"], "abc")),
  bad("a length beyond 64 bits", sending(["Content-Length: 99999999999999999999999999"], "abc")),
  bad("a length with a space before its colon", sending(["Content-Length : 3"], "abc")),
  bad("a coding that is not chunked", sending(["Transfer-Encoding: xchunked"], "0\r\n\r\n")),
  bad("chunked before another coding", sending(["Transfer-Encoding: chunked, identity"], "0\r\n\r\n")),
  bad(
    "chunked before another coding, on two lines",
    sending(["Transfer-Encoding: chunked", "Transfer-Encoding: gzip"], "0\r\n\r\n"),
  ),
  bad("the coding identity", sending(["Transfer-Encoding: identity", "Content-Length: 3"], "abc")),
  bad("a coding behind a vertical tab", sending(["Transfer-Encoding: \x0bchunked"], "0\r\n\r\n")),
  bad("a quoted coding", sending(['Transfer-Encoding: "chunked"'], "0\r\n\r\n")),
  bad("a coding with a space before its colon", sending(["Transfer-Encoding : chunked"], "0\r\n\r\n")),
  bad("a folded coding", sending(["Transfer-Encoding:\r\n chunked"], "0\r\n\r\n")),
  bad("a folded header", sending(["X-A: 1\r\n 2", "Content-Length: 0"], "")),
  bad("a folded first header", "GET /ledger/read HTTP/1.1\r\n X-A: 1\r\nHost: {own}\r\n\r\n"),
  bad("a bare line feed between headers", sending(["X-A: 1\nX-B: 2"], "")),
  bad("a bare carriage return in a header", sending(["X-A: 1\r2"], "")),
  bad("bare line feeds alone", raw("GET /ledger/read HTTP/1.1").replaceAll("\r\n", "\n")),
  bad("a NUL in a header", sending(["X-A: 1\x002"], "")),
  bad("a space before a colon", sending(["X-A : 1"], "")),
  bad("a header without a colon", sending(["X-A"], "")),
  bad("a header without a name", sending([": 1"], "")),
  bad("a header name that is no token", sending(["X(A): 1"], "")),
  bad("a name outside ASCII", sending(["X-\xe4: 1"], "")),
  bad("a chunk size that is no number", chunked("zz\r\nabc\r\n0\r\n\r\n")),
  bad("a negative chunk size", chunked("-1\r\nabc\r\n0\r\n\r\n")),
  bad("a chunk size with a prefix", chunked("0x3\r\nabc\r\n0\r\n\r\n")),
  bad("a chunk size beyond 64 bits", chunked("fffffffffffffffff\r\nabc\r\n0\r\n\r\n")),
  bad("an empty chunk size", chunked("\r\nabc\r\n0\r\n\r\n")),
  bad("a chunk longer than its size", chunked("3\r\nabcdef\r\n0\r\n\r\n")),
  bad("a chunk that ends in a line feed", chunked("3\r\nabc\n0\r\n\r\n")),
  bad("a chunk size that ends in a line feed", chunked("3\nabc\r\n0\r\n\r\n")),
  bad("a carriage return in a chunk extension", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n")),
  bad("a request of HTTP/0.9", "GET /ledger/read\r\n\r\n", [505]),
  bad("a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [505]),
  bad("HTTP/2.0 by name", raw("GET /ledger/read HTTP/2.0"), [505]),
  bad("HTTP/1.2", raw("GET /ledger/read HTTP/1.2"), [505]),
  bad("a version in small letters", raw("GET /ledger/read http/1.1")),
  bad("a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
  bad("a tab in the request line", raw("GET\t/ledger/read\tHTTP/1.1")),
  bad("a space in the target", raw("GET /ledger/any/a b HTTP/1.1")),
  bad("a method in small letters", raw("get /ledger/read HTTP/1.1"), [501]),
  bad("an unknown method", raw("FETCH /ledger/read HTTP/1.1"), [501]),
  bad("a NUL before the method", raw("\0GET /ledger/read HTTP/1.1")),
  bad("a host missing in HTTP/1.1", "GET /ledger/read HTTP/1.1\r\n\r\n"),
  bad("headers of more than 32 KiB", raw("GET /ledger/read HTTP/1.1", `X-A: ${"a".repeat(33_000)}`), [431]),
  bad("a target of more than 32 KiB", raw(`GET /ledger/any/${"a".repeat(33_000)} HTTP/1.1`), [431, 414]),
  bad("more than 1,000 headers", raw("GET /ledger/read HTTP/1.1", ...Array<string>(1_001).fill("a:")), [431]),

  {
    name: "chunk extensions and trailers do not become headers",
    send: chunked('3;x="y"\r\nabc\r\n3\r\ndef\r\n0\r\nX-Svc-Session: forged\r\nAuthorization: forged\r\n\r\n'),
    want: { passes: { ...unread, body: "abcdef", without: ["forged"] } },
  },
  {
    name: "a request inside a body stays a body",
    send: sending([`Content-Length: ${Buffer.byteLength(smuggled)}`], smuggled),
    want: { passes: { ...unread, body: smuggled } },
  },
  {
    name: "a request after a body is separate, without the first one's credentials",
    send: `${request("POST /ledger/send", ["Content-Length: 2", "Connection: keep-alive"], "ab")}GET /ledger/read HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n`,
    want: {
      passes: { ...unread, body: "ab" },
      answer: [/^HTTP\/1\.1 200 /, /HTTP\/1\.1 401 .*x-svc-blocked: unauthorized/is],
    },
  },
  {
    name: "an empty line before the request line is skipped (RFC 9112 section 2.2)",
    send: `\r\n${request("GET /ledger/read")}`,
    want: { passes: { target: "http:ledger/read", line: "GET /read" } },
  },
  {
    name: "more than one space before the version is one (RFC 9112 section 3)",
    send: request("GET /ledger/read").replace(" HTTP/1.1", "  HTTP/1.1"),
    want: { passes: { target: "http:ledger/read", line: "GET /read" } },
  },
  {
    name: "a GET is forwarded with its body",
    send: request("GET /ledger/any/x", ["Content-Length: 3"], "abc"),
    want: { passes: { target: "http:ledger/any", line: "GET /any/x", body: "abc" } },
  },
  {
    name: "HTTP/1.0 is served",
    send: "GET /ledger/read HTTP/1.0\r\nHost: {own}\r\nAuthorization: Bearer {bearer}\r\nX-Svc-Session: {session}\r\n\r\n",
    want: { passes: { target: "http:ledger/read", line: "GET /read", headers: ["via: 1.0 svc-pep"] } },
  },
  {
    name: "a header after hundreds of others counts",
    send: raw(
      "GET /ledger/read HTTP/1.1",
      ...Array<string>(990).fill("a:"),
      "Authorization: Bearer {bearer}",
      "Connection: close",
    ),
    want: { blocked: "unauthorized", status: 401 },
  },
];
