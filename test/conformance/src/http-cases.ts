import type { Listener } from "./raw-http.ts";

/** What a listener may answer, and whether it closes the connection then. */
export interface HttpCase {
  readonly name: string;
  readonly bytes: (listener: Listener) => string;
  readonly statuses: readonly number[];
  /** Of a listener that forwards, where it differs. */
  readonly proxyStatuses?: readonly number[];
  readonly closes: boolean;
}

const host = "Host: listener.test";
const message = (line: string, headers: readonly string[], body = "") => [line, ...headers, "", body].join("\r\n");

const refused = (status: number, name: string, bytes: HttpCase["bytes"]): HttpCase => ({
  name,
  bytes,
  statuses: [status],
  closes: true,
});
const line = (status: number, name: string, request: (path: string) => string, headers = [host]) =>
  refused(status, name, ({ alive }) => message(request(alive), headers));
const headers = (status: number, name: string, ...lines: string[]) =>
  refused(status, name, ({ alive }) => message(`GET ${alive} HTTP/1.1`, lines));
const framing = (status: number, name: string, lines: readonly string[], body = "0\r\n\r\n") =>
  refused(status, name, ({ takes }) => message(`POST ${takes} HTTP/1.1`, [host, ...lines], body));
const served = (name: string, bytes: HttpCase["bytes"], statuses = [200]): HttpCase => ({
  name,
  bytes,
  statuses,
  closes: false,
});

const versions = [
  line(505, "HTTP/0.9 without a version", (path) => `GET ${path}`, []),
  line(505, "HTTP/0.9 by its name", (path) => `GET ${path} HTTP/0.9`),
  line(505, "HTTP/2.0", (path) => `GET ${path} HTTP/2.0`),
  line(505, "HTTP/1.2", (path) => `GET ${path} HTTP/1.2`),
  line(505, "HTTP/3.0", (path) => `GET ${path} HTTP/3.0`),
  refused(505, "the preface of HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  line(400, "a version without its minor", (path) => `GET ${path} HTTP/1`),
  line(400, "a version with a zero before", (path) => `GET ${path} HTTP/01.1`),
  line(400, "a version in lower case", (path) => `GET ${path} http/1.1`),
  line(400, "a version with a space inside", (path) => `GET ${path} HTTP/ 1.1`),
];

const lines = [
  line(400, "a tab in the request line", (path) => `GET\t${path} HTTP/1.1`),
  line(400, "no target", () => "GET HTTP/1.1"),
  line(400, "a space in the target", (path) => `GET ${path} x HTTP/1.1`),
  line(400, "a target that is no path", () => "GET livez HTTP/1.1"),
  line(400, "a NUL in the target", (path) => `GET ${path}\0 HTTP/1.1`),
  line(400, "a bare CR in the request line", (path) => `GET ${path}\r HTTP/1.1`),
  line(400, "bytes beyond ASCII in the target", (path) => `GET ${path}\u00e9 HTTP/1.1`),
  { ...line(400, "a fragment", (path) => `GET ${path}#x HTTP/1.1`), proxyStatuses: [401, 404] },
  { ...line(400, "an asterisk for GET", () => "GET * HTTP/1.1"), proxyStatuses: [401, 404] },
  line(400, "a space before the method", (path) => ` GET ${path} HTTP/1.1`),
  refused(400, "bare LF as line ends", ({ alive }) => `GET ${alive} HTTP/1.1\n${host}\n\n`),
  refused(400, "bare CR as line ends", ({ alive }) => `GET ${alive} HTTP/1.1\r${host}\r\r`),
  refused(400, "bytes of another protocol", () => "\u0016\u0003\u0001\0\u00a5\u0001\0\r\n\r\n"),
  served("an empty line before the request line", ({ alive }) => `\r\n${message(`GET ${alive} HTTP/1.1`, [host])}`),
  {
    ...served("an absolute-form target", ({ alive, port }) =>
      message(`GET http://127.0.0.1:${port}${alive} HTTP/1.1`, [`Host: 127.0.0.1:${port}`]),
    ),
    proxyStatuses: [401, 404],
  },
];

const methods = [
  line(501, "a method that is not registered", (path) => `FROBNICATE ${path} HTTP/1.1`),
  line(501, "a method in lower case", (path) => `get ${path} HTTP/1.1`),
  line(501, "a method with a registered beginning", (path) => `GETX ${path} HTTP/1.1`),
  line(400, "a method that is no token", (path) => `G@T ${path} HTTP/1.1`),
  {
    ...refused(501, "CONNECT", () => message("CONNECT other.test:443 HTTP/1.1", ["Host: other.test:443"])),
    proxyStatuses: [401, 404],
  },
  served("TRACE", ({ alive }) => message(`TRACE ${alive} HTTP/1.1`, [host]), [405]),
  served("DELETE", ({ alive }) => message(`DELETE ${alive} HTTP/1.1`, [host]), [405]),
  { ...served("OPTIONS of the server", () => message("OPTIONS * HTTP/1.1", [host]), [204]), proxyStatuses: [401, 404] },
];

const hosts = [
  headers(400, "no Host"),
  headers(400, "two Hosts", host, "Host: other.test"),
  headers(400, "two equal Hosts", host, host),
  headers(400, "an empty Host", "Host:"),
  headers(400, "a Host with a user", "Host: user@listener.test"),
  headers(400, "a Host with a path", "Host: listener.test/x"),
  headers(400, "a list of Hosts", "Host: listener.test, other.test"),
  refused(400, "two Hosts in HTTP/1.0", ({ alive }) => message(`GET ${alive} HTTP/1.0`, [host, host])),
  served("HTTP/1.0 without Host", ({ alive }) => message(`GET ${alive} HTTP/1.0`, [])),
];

const fields = [
  headers(400, "a space before the colon", host, "X-A : 1"),
  headers(400, "a space before the colon of Host", "Host : listener.test"),
  headers(400, "obsolete folding", host, "X-A: 1", " 2"),
  headers(400, "a blank before the first header", " X-A: 1", host),
  headers(400, "a header without a colon", host, "X-A"),
  headers(400, "a header without a name", host, ": 1"),
  headers(400, "a name that is no token", host, "X[A]: 1"),
  headers(400, "a NUL in a value", host, "X-A: 1\u00002"),
  headers(400, "a bare CR in a value", host, "X-A: 1\r2"),
  headers(400, "a bare LF in a value", host, "X-A: 1\nX-B: 2"),
  headers(400, "a control character in a value", host, "X-A: 1\u0001"),
  headers(431, "a huge header", host, `X-A: ${"a".repeat(70_000)}`),
  line(431, "a huge target", (path) => `GET ${path}?${"a".repeat(70_000)} HTTP/1.1`),
  headers(431, "thousands of headers", host, ...Array<string>(2_000).fill("A:1")),
];

const lengths = ["-1", "+1", "0x1", "1 1", "1, 1", "1, 2", "one", "", "99999999999999999999", "1.0", "1_0"].map(
  (length) => framing(400, `Content-Length: ${length}`, [`Content-Length: ${length}`], "a"),
);

const framings = [
  ...lengths,
  framing(400, "two lengths", ["Content-Length: 1", "Content-Length: 2"], "ab"),
  framing(400, "two equal lengths", ["Content-Length: 1", "Content-Length: 1"], "a"),
  framing(400, "a coding and a length", ["Transfer-Encoding: chunked", "Content-Length: 5"]),
  framing(400, "a length and a coding", ["Content-Length: 5", "Transfer-Encoding: chunked"]),
  framing(400, "an unknown last coding", ["Transfer-Encoding: xchunked"]),
  framing(400, "identity", ["Transfer-Encoding: identity"]),
  framing(400, "chunked before another coding", ["Transfer-Encoding: chunked, gzip"]),
  framing(400, "chunked twice", ["Transfer-Encoding: chunked, chunked"]),
  framing(400, "chunked twice, in two headers", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]),
  framing(400, "no coding in Transfer-Encoding", ["Transfer-Encoding:"]),
  framing(400, "an empty coding before chunked", ["Transfer-Encoding: , chunked"]),
  framing(400, "chunked in quotes", ['Transfer-Encoding: "chunked"']),
  framing(400, "chunked with a parameter", ["Transfer-Encoding: chunked;a=b"]),
  framing(400, "a vertical tab before chunked", ["Transfer-Encoding: \u000bchunked"]),
  framing(501, "gzip before chunked", ["Transfer-Encoding: gzip, chunked"]),
  framing(501, "gzip before chunked, in two headers", ["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"]),
  framing(501, "an unknown coding before chunked", ["Transfer-Encoding: brotli, chunked"]),
  refused(400, "chunked on HTTP/1.0", ({ takes }) =>
    message(`POST ${takes} HTTP/1.0`, [host, "Transfer-Encoding: chunked"], "0\r\n\r\n"),
  ),
];

/** The body may be refused before, by what the listener answers to a stranger. */
const chunk = (name: string, body: string): HttpCase => ({
  name: `chunks: ${name}`,
  bytes: ({ takes }) =>
    message(`POST ${takes} HTTP/1.1`, [host, "Content-Type: application/json", "Transfer-Encoding: chunked"], body),
  statuses: [400, 401, 405],
  closes: true,
});
const chunks = [
  chunk("no size", "zz\r\n"),
  chunk("a negative size", "-1\r\n"),
  chunk("a size as 0x", "0x1\r\na\r\n0\r\n\r\n"),
  chunk("a size beyond all", "ffffffffffffffffff\r\n"),
  chunk("a space before the size", " 1\r\na\r\n0\r\n\r\n"),
  chunk("bare LF as line ends", "1\na\n0\n\n"),
  chunk("more than the size", "1\r\nabc\r\n0\r\n\r\n"),
  chunk("an extension without a name", "1;\r\na\r\n0\r\n\r\n"),
  chunk("a bare LF in an extension", "1;a\nb\r\na\r\n0\r\n\r\n"),
  chunk("a NUL in an extension", "1;a\0\r\na\r\n0\r\n\r\n"),
  chunk("a trailer with a space before the colon", "0\r\nA : b\r\n\r\n"),
  chunk("a trailer that frames", "0\r\nContent-Length: 5\r\n\r\n"),
];

const expectations = [
  { ...headers(417, "an unknown expectation", host, "Expect: tea"), closes: true },
  served("an expectation in HTTP/1.0", ({ alive }) => message(`GET ${alive} HTTP/1.0`, [host, "Expect: tea"])),
  served("an upgrade that is not known", ({ alive }) =>
    message(`GET ${alive} HTTP/1.1`, [host, "Connection: Upgrade", "Upgrade: h2c"]),
  ),
];

export const httpCases: readonly HttpCase[] = [
  ...versions,
  ...lines,
  ...methods,
  ...hosts,
  ...fields,
  ...framings,
  ...chunks,
  ...expectations,
];
