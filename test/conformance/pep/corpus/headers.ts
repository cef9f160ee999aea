import { type Exchange, post, request } from "../exchange.ts";

const read = { target: "http:ledger/read", line: "GET /read" } as const;
const write = { target: "http:ledger/post", line: "POST /post", isPrivileged: true } as const;

const dropped = (name: string, headers: readonly string[]): Exchange => ({
  name,
  send: request("GET /ledger/read", headers),
  want: { passes: { ...read, without: ["forged"] } },
});

/** Cases 51, 52 and 57: headers of an agent about itself, about the hop, and about its authority. */
export const headers: readonly Exchange[] = [
  {
    name: "100 Continue is sent after the decision and before the body, and Expect is not forwarded",
    send: post("/ledger/post", '{"a":1}', ["Expect: 100-continue"]).replace('{"a":1}', ""),
    afterContinue: '{"a":1}',
    want: {
      passes: { ...write, body: '{"a":1}', without: ["expect"] },
      answer: /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    },
  },
  {
    name: "a denied call gets no 100 Continue",
    send: post("/ledger/secret", '{"a":1}', ["Expect: 100-continue"]).replace('{"a":1}', ""),
    want: { blocked: "policy", status: 403, answer: /^HTTP\/1\.1 403 / },
  },
  {
    name: "an unknown expectation is refused",
    send: post("/ledger/send", "{}", ["Expect: 200-maybe"]),
    want: { malformed: [417] },
  },
  {
    name: "Expect in an HTTP/1.0 request is ignored",
    send: request("GET /ledger/read", ["Expect: 100-continue"]).replace("HTTP/1.1", "HTTP/1.0"),
    want: { passes: { ...read, without: ["expect"] }, hides: /100 Continue/ },
  },

  {
    name: "headers of ours that Connection nominates are kept",
    send: request("GET /ledger/read", [
      "Connection: close, Authorization, Txn-Token, X-Svc-Session, Via, Host, X-Hop",
      "X-Hop: 1",
    ]),
    want: { passes: { ...read, headers: ["via: 1.1 svc-pep", "x-svc-session: {session}"], without: ["x-hop"] } },
  },
  {
    name: "every Connection header counts, beside empty ones",
    send: request("GET /ledger/read", [
      "Connection:",
      "Connection: X-One",
      "Connection: close, x-two",
      "X-One: 1",
      "X-Two: 2",
    ]),
    want: { passes: { ...read, without: ["x-one", "x-two"] } },
  },
  {
    name: "hop-by-hop headers are not forwarded",
    send: request("GET /ledger/read", [
      ...[
        "Keep-Alive: timeout=9",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic eDp5",
        "Proxy-Authenticate: x",
      ],
      ...["TE: gzip", "Trailer: x-sum", "HTTP2-Settings: x"],
    ]),
    want: {
      passes: {
        ...read,
        without: ["keep-alive:", "timeout=9", "proxy-", "eDp5", "te: ", "trailer", "http2-settings"],
      },
    },
  },
  {
    name: "Via is appended",
    send: request("GET /ledger/read", ["Via: 1.0 agent"]),
    want: {
      passes: { ...read, headers: ["via: 1.0 agent", "via: 1.1 svc-pep"] },
      answer: /\r\nvia: 1\.1 svc-pep\r\n/i,
    },
  },
  {
    name: "other headers pass in order, with spelling and repeats",
    send: request("GET /ledger/read", [
      "X-Trace: a",
      "Cookie: b=1",
      "x-tRACE: c",
      "Accept-Encoding: br",
      'If-None-Match: "x"',
    ]),
    want: {
      passes: {
        ...read,
        headers: ["X-Trace: a", "Cookie: b=1", "x-tRACE: c", "Accept-Encoding: br", 'If-None-Match: "x"'],
      },
    },
  },
  {
    name: "header bytes beyond ASCII pass unchanged",
    send: request("GET /ledger/read", ["X-Name: caf\xe9"]),
    want: { passes: { ...read, headers: ["X-Name: caf\xe9"] } },
  },

  dropped("the agent's own transaction token", ["Txn-Token: forged", "Txn-Token: forged"]),
  dropped("the agent's own identity assertion", ["Agent-Identity: forged"]),
  dropped("any header name of ours", ["X-Svc-Role: forged", "X-Svc-Authorization: forged", "X-Svc-Blocked: forged"]),
  dropped("underscore spellings of ours", ["X_Svc_Session: forged", "txn_token: forged", "Agent_Identity: forged"]),
  dropped("mixed spellings of ours", ["X-Svc_Session: forged", "X_SVC-Session: forged"]),
  dropped("other spellings of ours", [
    "Txn.Token: forged",
    "Agent+Identity: forged",
    "X.Svc~Session: forged",
    "XSvcRole: forged",
  ]),
  dropped("a proxy for CGI programs", ["Proxy: http://forged"]),
  dropped("a client certificate", ["Client-Cert: forged", "X-SSL-Client-Cert: forged", "SSL_CLIENT_S_DN: forged"]),
  dropped("a person signed in elsewhere", ["Remote-User: forged", "X-Auth-Request-User: forged"]),
  dropped("forwarding headers", [
    ...["Forwarded: for=forged", "X-Forwarded-For: forged", "X-Forwarded-Host: forged", "X-Forwarded-Proto: forged"],
    ...["X_Forwarded_For: forged", "X-Forwarded-Uri: /forged", "X-Forwarded-User: forged"],
  ]),
  dropped("another URL", [
    "X-Original-URL: /forged",
    "X-Rewrite-URL: /forged",
    "X-Original-URI: /forged",
    "X_Original_Url: /forged",
    "X-Original-Host: forged",
  ]),
  dropped("another method", [
    "X-HTTP-Method-Override: forged",
    "X_Http_Method_Override: forged",
    "X-Method-Override: forged",
    "X.HTTP.Method: forged",
  ]),
  dropped("baggage and a trace state of no trace", ["baggage: a=forged", "tracestate: a=forged"]),

  {
    name: "an upstream's own secret replaces the agent's",
    send: request("GET /keyed/read", ["X-Api-Key: forged", "X_Api_Key: forged"]),
    want: {
      passes: {
        target: null,
        line: "GET /read",
        headers: ["x-api-key: secret-of-the-upstream"],
        without: ["forged", "x-svc-"],
      },
    },
  },
  {
    name: "an upstream's own secret is removed from the response",
    send: request("GET /keyed/read"),
    upstream: { bytes: "HTTP/1.1 200 OK\r\nX-Echo: secret-of-the-upstream\r\nContent-Length: 0\r\n\r\n" },
    want: { passes: { target: null, line: "GET /read" }, hides: /secret-of-the-upstream/ },
  },
  {
    name: "an upstream with credentials none receives none",
    send: request("GET /bare/read", ["Cookie: a=1"]),
    want: {
      passes: { target: null, line: "GET /read", headers: ["Cookie: a=1"], without: ["authorization", "x-svc-"] },
    },
  },
  {
    name: "a bearer of ours is not passed through where the agent's own is",
    send: request("GET /own/read"),
    want: {
      passes: { target: null, line: "GET /read", headers: ["x-svc-session: {session}"], without: ["\nauthorization:"] },
    },
  },
];
