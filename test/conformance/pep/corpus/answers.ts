import { type Exchange, post, request } from "../exchange.ts";

const read = { target: "http:ledger/read", line: "GET /read" } as const;
const send = { target: "http:ledger/send", line: "POST /send" } as const;

const answered = (name: string, bytes: string, answer: RegExp | readonly RegExp[], hides?: RegExp): Exchange => ({
  name: `an upstream's response: ${name}`,
  send: request("GET /ledger/read"),
  upstream: { bytes },
  want: { passes: read, answer, ...(hides && { hides }) },
});
const unusable = (name: string, bytes: string): Exchange => ({
  name: `an upstream's response: ${name}`,
  send: request("GET /ledger/read"),
  upstream: { bytes },
  want: { failed: 502, sent: read },
});
const ok = (...headers: readonly string[]): string =>
  ["HTTP/1.1 200 OK", "Content-Length: 2", ...headers, "", "ok"].join("\r\n");

/** Cases 59 to 63 and 67: an upstream's response cannot set our headers, redirect us or hide a truncated body. */
export const answers: readonly Exchange[] = [
  ...[301, 302, 303, 307, 308].map((status) =>
    answered(
      `a ${status} elsewhere is the agent's to follow`,
      `HTTP/1.1 ${status} Elsewhere\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0\r\n\r\n`,
      new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*location: http://127\\.0\\.0\\.1:9/x`, "i"),
    ),
  ),
  answered(
    "a redirect to another upstream leads below its own prefix",
    "HTTP/1.1 307 Elsewhere\r\nLocation: /bare/read\r\nContent-Length: 0\r\n\r\n",
    /location: \/ledger\/bare\/read\r\n/i,
  ),
  answered(
    "a redirect to this listener leads below its own prefix",
    "HTTP/1.1 307 Elsewhere\r\nLocation: http://localhost:{port}/bare/read\r\nContent-Length: 0\r\n\r\n",
    /location: \/ledger\/bare\/read\r\n/i,
  ),
  answered(
    "its own challenge",
    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    /^HTTP\/1\.1 401 [\s\S]*www-authenticate: Basic/i,
    /x-svc-blocked/i,
  ),
  answered("its own failure", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", /^HTTP\/1\.1 503 /, /x-svc-blocked/i),
  answered("an imitated block", ok("X-Svc-Blocked: policy", "x_svc_blocked: policy"), /^HTTP\/1\.1 200 /, /blocked/i),
  answered(
    "header names of ours",
    ok("Txn-Token: forged", "Agent-Identity: forged", "X-Svc-Session: forged", "Agent_Identity: forged"),
    /\r\n\r\nok$/,
    /forged/,
  ),
  answered("our own token in a header", ok("X-Echo: {authorization}", "X-Fine: 1"), /x-fine: 1/i, /x-echo|Bearer ey/i),
  answered(
    "headers that its Connection nominates",
    ok("Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=1", "Proxy-Authenticate: x"),
    /\r\n\r\nok$/,
    /x-hop|keep-alive: timeout=1|proxy-authenticate/i,
  ),
  answered(
    "repeated headers, kept apart",
    ok("Set-Cookie: a=1", "Set-Cookie: b=2"),
    /set-cookie: a=1; Path=\/ledger\r\nset-cookie: b=2; Path=\/ledger\r\n/i,
  ),
  answered("bytes beyond ASCII", ok("X-Name: caf\xe9"), /x-name: caf\xe9\r\n/i),
  answered("an unknown status", "HTTP/1.1 299 Perhaps\r\nContent-Length: 0\r\n\r\n", /^HTTP\/1\.1 299 /),
  answered("no reason phrase", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", /^HTTP\/1\.1 200 [\s\S]*ok$/),
  answered(
    "an encoded body, undecoded",
    `HTTP/1.1 200 OK\r\nContent-Encoding: ${Array(1_000).fill("gzip").join(", ")}\r\nContent-Length: 3\r\n\r\nabc`,
    /content-encoding: gzip, gzip[\s\S]*\r\n\r\nabc$/i,
  ),
  unusable("an unsolicited 100 Continue", `HTTP/1.1 100 Continue\r\n\r\n${ok()}`),
  answered(
    "early hints",
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Svc-Blocked: policy\r\n\r\n${ok()}`,
    /^HTTP\/1\.1 103 [\s\S]*link: <\/ledger\/a>[\s\S]*HTTP\/1\.1 200 /i,
    /blocked/i,
  ),
  answered(
    "a 204 with a body",
    "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nforge",
    /^HTTP\/1\.1 204 /,
    /forge|content-length/i,
  ),
  answered(
    "a 304 with a length",
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: "a"\r\n\r\n',
    /^HTTP\/1\.1 304 [\s\S]*etag: "a"/i,
  ),
  answered(
    "a body that ends with its connection",
    "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    /^HTTP\/1\.1 200 [\s\S]*until the end/,
  ),
  answered(
    "chunks and trailers, ours left out",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nX-Svc-Blocked: policy\r\n\r\n",
    /2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n$/i,
    /blocked/i,
  ),
  answered(
    "a second response after the first",
    `${ok()}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`,
    /\r\n\r\nok$/,
    /forged/,
  ),
  unusable("an unsolicited 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
  unusable("no HTTP", "SSH-2.0-OpenSSH\r\n"),
  unusable("two framings", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
  unusable("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"),
  unusable("a NUL in a header", ok("X-A: a\0b")),
  unusable("a bare carriage return in a header", ok("X-A: a\rX-Svc-Blocked: b")),
  unusable("a header without end", `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(100_000)}\r\n\r\n`),
  unusable("half a head", "HTTP/1.1 200 OK\r\nContent-Le"),
  {
    name: "an upstream's response: none, and a reset",
    send: request("GET /ledger/read"),
    upstream: "resets",
    want: { failed: 502, sent: read },
  },
  {
    name: "an upstream's response: none, and an end",
    send: request("GET /ledger/read"),
    upstream: "closes",
    want: { failed: 502, sent: read },
  },
  {
    name: "an upstream's response: none to a POST, which is not sent again",
    send: post("/ledger/send", "{}"),
    upstream: "closes",
    want: { failed: 502, sent: { ...send, body: "{}" } },
  },
  {
    name: "an upstream's response: none in time",
    send: request("GET /ledger/read"),
    upstream: "is silent",
    want: { failed: 504, sent: read },
  },
  {
    name: "an upstream's response: half a body",
    send: request("GET /ledger/read"),
    upstream: { bytes: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
    want: { aborted: /^HTTP\/1\.1 200 [\s\S]*content-length: 10[\s\S]*(half)?$/i, sent: read },
  },
  {
    name: "an upstream's response: half of its chunks",
    send: request("GET /ledger/read"),
    upstream: { bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n" },
    want: { aborted: /^HTTP\/1\.1 200 (?![\s\S]*\r\n0\r\n\r\n$)/, sent: read },
  },
  {
    name: "an upstream without a route",
    send: request("GET /shut/read"),
    want: { blocked: "unresolvable_call", status: 404 },
  },
  {
    name: "a response to HEAD has no body",
    send: request("HEAD /ledger/any/x"),
    upstream: { bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" },
    want: {
      passes: { target: "http:ledger/any", line: "HEAD /any/x" },
      answer: /content-length: 9\r\n[\s\S]*\r\n\r\n$/i,
    },
  },
];
