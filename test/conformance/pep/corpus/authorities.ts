import { acting, type Exchange, post, request } from "../exchange.ts";

const read = { target: "http:ledger/read", line: "GET /read" } as const;
const nowhere = { blocked: "unresolvable_call", status: 404 } as const;
const noHost = { malformed: [400] } as const;

const underHost = (host: string, want: Exchange["want"]): Exchange => ({
  name: `Host ${JSON.stringify(host)}`,
  send: request("GET /read", [`Host: ${host}`]),
  want,
});
const absolute = (target: string, want: Exchange["want"], host = "evil.example"): Exchange => ({
  name: `the absolute form ${target}`,
  send: request(`GET ${target}`, [`Host: ${host}`]),
  want,
});

/** Cases 54 and 55: the authority alone selects the upstream, and some methods are not forwarded. */
export const authorities: readonly Exchange[] = [
  ...["ledger.internal", "LEDGER.internal", "ledger.internal.", "ledger.internal:80", "ledger.internal:443"].map(
    (host) => underHost(host, { passes: { ...read, headers: ["host: {upstream}"], without: ["internal"] } }),
  ),
  ...[
    "ledger.internal:8443",
    "ledger.internal..",
    "ledger.internal:0",
    "ledger.internal:99999",
    "ledger.internal:",
  ].map((host) => underHost(host, nowhere)),
  ...[
    "evil.example",
    "127.0.0.1",
    "169.254.169.254",
    "localhost",
    "ledger.internal.evil.example",
    "xledger.internal",
  ].map((host) => underHost(host, nowhere)),
  ...["a@ledger.internal", "ledger.internal@evil.example", "ledger.internal/x", "ledger.internal,evil.example"].map(
    (host) => underHost(host, noHost),
  ),
  ...["ledger.internal evil.example", "[ledger.internal]", ""].map((host) => underHost(host, noHost)),
  ...["[::1]", "0x7f000001", "ledger%2einternal"].map((host) => underHost(host, nowhere)),
  {
    name: "two Hosts",
    send: request("GET /read", ["Host: ledger.internal", "Host: evil.example"]),
    want: noHost,
  },
  {
    name: "two equal Hosts",
    send: request("GET /read", ["Host: ledger.internal", "Host: ledger.internal"]),
    want: noHost,
  },
  {
    name: "no Host in HTTP/1.0",
    send: ["GET /ledger/read HTTP/1.0", ...acting, "", ""].join("\r\n"),
    want: nowhere,
  },
  {
    name: "another spelling of the enforcement point's own address",
    send: request("GET /ledger/read", ["Host: localhost:{port}"]),
    want: { passes: read },
  },
  {
    name: "the enforcement point's own address with another port",
    send: request("GET /ledger/read", ["Host: 127.0.0.1:1"]),
    want: nowhere,
  },
  ...[
    "X-Forwarded-Host: ledger.internal",
    "X-Forwarded-Uri: /ledger/read",
    "X-Original-URL: /ledger/read",
    "X-Rewrite-URL: /ledger/read",
    "Forwarded: host=ledger.internal",
    "X-Host: ledger.internal",
  ].map(
    (header): Exchange => ({
      name: `${header} does not select the upstream`,
      send: request("GET /read", ["Host: evil.example", header]),
      want: nowhere,
    }),
  ),

  absolute("http://ledger.internal/read?q", {
    passes: { ...read, line: "GET /read?q", headers: ["host: {upstream}"] },
  }),
  absolute("http://LEDGER.INTERNAL:80/read", { passes: read }),
  absolute("HTTPS://ledger.internal/read", { passes: read }),
  absolute("http://ledger.internal?x", { blocked: "unresolvable_call", status: 404 }),
  absolute("http://evil.example/read", nowhere, "ledger.internal"),
  absolute("http://ledger.internal:8443/read", nowhere, "ledger.internal"),
  absolute("http://a:b@ledger.internal/read", nowhere),
  absolute("http://ledger.internal/any/../admin", nowhere),
  absolute("http://ledger.internal//read", nowhere),
  absolute("http://ledger.internal\\@evil.example/read", { malformed: [400] }),
  absolute("http://{own}/ledger/read", nowhere, "{own}"),
  absolute("http://{own}/__svc/metrics", nowhere, "{own}"),
  absolute("ftp://ledger.internal/read", nowhere),
  absolute("ledger://read", nowhere),

  ...["ledger.internal:443", "evil.example:443", "127.0.0.1:22", "169.254.169.254:80"].map(
    (authority): Exchange => ({
      name: `CONNECT ${authority}`,
      send: request(`CONNECT ${authority}`, [`Host: ${authority}`]),
      want: nowhere,
    }),
  ),
  ...["/ledger/any/x", "http://ledger.internal/any/x"].map(
    (target): Exchange => ({ name: `TRACE ${target}`, send: request(`TRACE ${target}`), want: nowhere }),
  ),
  { name: "OPTIONS *", send: request("OPTIONS *"), want: nowhere },
  { name: "a method without a route", send: request("DELETE /ledger/read"), want: nowhere },
  { name: "HEAD on a GET-only route", send: request("HEAD /ledger/read"), want: nowhere },
  {
    name: "a method override changes nothing",
    send: post("/ledger/send", "{}", [
      "X-HTTP-Method-Override: DELETE",
      "X-HTTP-Method: DELETE",
      "X-Method-Override: PUT",
    ]),
    want: { passes: { target: "http:ledger/send", line: "POST /send", without: ["override", "x-http-method"] } },
  },
  {
    name: "an upgrade to another protocol is forwarded as a plain request",
    send: request("GET /ledger/read", [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
    ]).replace("Connection: Upgrade", "Connection: close, Upgrade"),
    want: { passes: { ...read, without: ["h2c", "http2-settings"] } },
  },
  {
    name: "a WebSocket to a path without a route",
    send: request("GET /ledger/nowhere/x", ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]),
    want: nowhere,
  },
];
