import fc from "fast-check";
import { mutated } from "../mutated-text.ts";
import { acting, type Case, requestOf, type Target } from "../target.ts";

const answer = (status: string, headers: readonly string[] = [], body = ""): string =>
  [`HTTP/1.1 ${status}`, ...headers, "", body].join("\r\n");

const corpus = [
  answer("200 OK", ["Content-Length: 4", "X-A: 1"], "done"),
  answer("200 OK", ["Transfer-Encoding: chunked"], "4\r\ndone\r\n0\r\nX-Sum: 7\r\n\r\n"),
  answer("200 OK", ["Connection: close"], "to the end"),
  answer("200 OK", ["Content-Type: text/event-stream"], "data: 1\n\ndata: 2\n\n"),
  answer("204 No Content"),
  answer("304 Not Modified", ['ETag: "7"']),
  answer("307 Temporary Redirect", ["Location: http://evil.example/", "Content-Length: 0"]),
  answer("103 Early Hints", ["Link: </a>; rel=preload"]) + answer("200 OK", ["Content-Length: 2"], "ok"),
  answer("101 Switching Protocols", ["Upgrade: websocket", "Connection: Upgrade"], "frames"),
  answer("403 Forbidden", ["X-Svc-Blocked: policy", "Content-Length: 2"], "{}"),
  answer("200 OK", ["Content-Encoding: gzip", "Content-Length: 3"], "abc"),
  answer("200 OK", ["Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Length: 0"]),
];

const pieces = [
  ...["\r\n", "\n", "\r", "\u0000", " ", ":", "\r\n\r\n", "\u00ff", "\t", "0\r\n\r\n", "ffffffff\r\n"],
  ...["Content-Length: 3\r\n", "Content-Length: -1\r\n", "Content-Length: 99\r\n", "Transfer-Encoding: chunked\r\n"],
  ...[
    "X-Svc-Blocked: policy\r\n",
    "x_svc_session: x\r\n",
    "Txn-Token: x\r\n",
    "Connection: x-a, close\r\n",
    "Keep-Alive: x\r\n",
  ],
  ...[
    "Trailer: x-svc-a\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.0",
    "HTTP/2",
    "999",
    "100",
    `X-Long: ${"a".repeat(40_000)}\r\n`,
  ],
];

const ours = /^(?:x[-_]svc[-_].*|txn[-_]token|agent[-_]identity):/im;

const path = "/ledger/any/answer";
const asked = {
  GET: requestOf(`GET ${path}`, ["Host: {own}"]),
  HEAD: requestOf(`HEAD ${path}`, ["Host: {own}"]),
  POST: requestOf(`POST ${path}`, ["Host: {own}", "Content-Length: 0"]),
  websocket: [
    `GET ${path} HTTP/1.1`,
    ...acting,
    "Host: {own}",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "",
    "",
  ].join("\r\n"),
};

const answered: fc.Arbitrary<Case> = fc
  .record({ answer: mutated(corpus, pieces), kind: fc.constantFrom("GET", "HEAD", "POST", "websocket") })
  .map(({ answer, kind }) => ({
    send: asked[kind],
    answer,
    isHead: kind === "HEAD",
    check: ({ text }, arrivals) => [
      ...(arrivals.length > 1 ? ["more than one request arrived"] : []),
      ...(ours.test(text.split("\r\n\r\n")[0] ?? "") && arrivals.length > 0
        ? ["an upstream set a header of ours"]
        : []),
    ],
  }));

export const answers: Target = {
  name: "answers",
  about: "upstreams' responses: cut, split, malformed, and with headers of ours",
  cases: answered,
};
