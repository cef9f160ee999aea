import { mutated } from "../mutated-text.ts";
import { acting, requestOf, type Target } from "../target.ts";

const chunked = "6\r\nchunk1\r\n3;x=y\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n";
const two = requestOf("GET /ledger/a", ["Host: {own}"]).replace("Connection: close", "X-First: 1");

const corpus = [
  requestOf("GET /ledger/admin", ["Host: {own}"]),
  requestOf("GET http://ledger.internal/entries/7?x=1", ["Host: ledger.internal"]),
  requestOf("POST /ledger/anything", ["Host: {own}", "Content-Length: 4"], "body"),
  requestOf("POST /ledger/anything", ["Host: {own}", "Transfer-Encoding: chunked"], chunked),
  requestOf("POST /ledger/post", ["Host: {own}", "Content-Type: application/json", "Content-Length: 7"], '{"a":1}'),
  requestOf("POST /ledger/anything", ["Host: {own}", "Expect: 100-continue", "Content-Length: 4"], "body"),
  requestOf("GET /ledger/a", ["Host: {own}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: eA=="]),
  requestOf("CONNECT ledger.internal:443", ["Host: ledger.internal:443"]),
  requestOf("OPTIONS *", ["Host: {own}"]),
  two + requestOf("GET /ledger/admin", ["Host: {own}"]),
  ["GET /__svc/livez HTTP/1.1", "Host: {own}", "Connection: close", "", ""].join("\r\n"),
  ["GET /ledger/a HTTP/1.0", ...acting, "Host: {own}", "", ""].join("\r\n"),
  "\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\u0000\u00a1\u0003\u0003",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

const pieces = [
  ...[
    "\r\n",
    "\n",
    "\r",
    "\u0000",
    " ",
    "\t",
    ":",
    ",",
    "\r\n ",
    "\u000b",
    "\u00ff",
    "\u00e9",
    "0\r\n\r\n",
    "\r\n\r\n",
  ],
  ...[
    "Content-Length: 5\r\n",
    "Content-Length: +5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 18446744073709551616\r\n",
  ],
  ...["Transfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n"],
  ...["Transfer-Encoding: identity, chunked\r\n", "Connection: authorization, x-svc-session\r\n", "Connection: \r\n"],
  ...[
    "Expect: 100-continue\r\n",
    "Upgrade: websocket\r\n",
    "Host: evil.example\r\n",
    "Txn-Token: x\r\n",
    "X_Svc_Session: x\r\n",
  ],
  ...["Authorization: Bearer a.b.c\r\n", "X-Svc-Session: x\r\n", "GET /ledger/admin HTTP/1.1\r\nHost: {own}\r\n\r\n"],
  ...[
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "%2e%2e/",
    "//",
    "\\",
    "#",
    "?",
    "ffffffff",
    `X-Long: ${"a".repeat(9_000)}\r\n`,
  ],
];

/** Requests, and edits that are no request any more. */
export const raw: Target = {
  name: "raw",
  about: "bytes to the agent listener: requests cut, doubled, smuggled and malformed",
  cases: mutated(corpus, pieces).map((send) => ({ send })),
};
