import type { HopTaken } from "@svc/hop";
import { describe, expect, test } from "vitest";
import { credentialHeaders, secretsOf } from "../src/forward/outbound-credentials.ts";
import { acceptsTrailers, requestHeaders, responseHeaders } from "../src/message/headers.ts";

const own = ["host", "ledger.internal:8443", "authorization", "Bearer narrowed", "x-svc-session", "s"];

describe("an agent's header never reaches the upstream", () => {
  test.each([
    ["Authorization", "Bearer presented"],
    ["X-Svc-Session", "other"],
    ["X-Svc-Anything", "x"],
    ["x_svc_session", "other"],
    ["X-Svc_Session", "other"],
    ["Txn-Token", "x"],
    ["Txn_Token", "x"],
    ["Agent-Identity", "x"],
    ["AGENT_IDENTITY", "x"],
    ["Txn.Token", "x"],
    ["Agent+Identity", "x"],
    ["X.Svc.Authorization", "x"],
    ["X~Svc|Session", "other"],
    ["TxnToken", "x"],
    ["Auth_Orization", "Bearer presented"],
    ["Forwarded", "for=1"],
    ["X.Forwarded.For", "1.2.3.4"],
    ["Forwarded-For", "1.2.3.4"],
    ["X-Real-IP", "1.2.3.4"],
    ["X-Client-IP", "1.2.3.4"],
    ["X-Cluster-Client-IP", "1.2.3.4"],
    ["True-Client-IP", "1.2.3.4"],
    ["CF-Connecting-IP", "1.2.3.4"],
    ["Fastly-Client-IP", "1.2.3.4"],
    ["X-Envoy-External-Address", "1.2.3.4"],
    ["Proxy", "http://evil.example"],
    ["Proxy_", "http://evil.example"],
    ["Client-Cert", ":x:"],
    ["Client-Cert-Chain", ":x:"],
    ["X-Client-Cert", "x"],
    ["X-Client-DN", "CN=admin"],
    ["X-Client-Verify", "SUCCESS"],
    ["SSL_CLIENT_S_DN", "CN=admin"],
    ["Ssl-Client-Verify", "SUCCESS"],
    ["X-SSL-Client-Cert", "x"],
    ["X-SSL-CERT", "x"],
    ["X-TLS-Client-CN", "x"],
    ["X-ARR-ClientCert", "x"],
    ["X-Amzn-Mtls-Clientcert", "x"],
    ["X-Amzn-Oidc-Data", "x"],
    ["Remote-User", "admin"],
    ["X-Remote-User", "admin"],
    ["X-Authenticated-User", "admin"],
    ["X-Auth-Request-Email", "admin"],
    ["X-WebAuth-User", "admin"],
    ["X-MS-Client-Principal", "admin"],
    ["X-Goog-Authenticated-User-Email", "admin"],
    ["X-Method", "DELETE"],
    ["HTTP-Method-Override", "DELETE"],
    ["X-HTTP-Override", "DELETE"],
    ["X-Original-Host", "evil"],
    ["X-Original-Path", "/admin"],
    ["X-Rewrite-URI", "/admin"],
    ["X-Override-URL", "/admin"],
    ["X-HTTP-Path-Override", "/admin"],
    ["X-HTTP-DestinationURL", "/admin"],
    ["X-Envoy-Original-Path", "/admin"],
    ["X-Host", "evil"],
    ["X-HTTP-Host-Override", "evil"],
    ["Request-URI", "/admin"],
    ["X-Matched-Path", "/admin"],
    ["X-Waws-Unencoded-Url", "/admin"],
    ["X-Unencoded-URL", "/admin"],
    ["Script-Name", "/admin"],
    ["X-Script-Name", "/admin"],
    ["X-Scheme", "https"],
    ["X-URL-Scheme", "https"],
    ["Front-End-Https", "on"],
    ["X-Sendfile-Type", "X-Accel-Redirect"],
    ["X-Accel-Mapping", "/=/etc/"],
    ["X-Middleware-Subrequest", "middleware"],
    ["X-Invoke-Path", "/admin"],
    ["X-Now-Route-Matches", "1=admin"],
    ["Cf-Access-Authenticated-User-Email", "admin"],
    ["X-Pomerium-Claim-Email", "admin"],
    ["X-Authentik-Username", "admin"],
    ["X-Vouch-User", "admin"],
    ["Tailscale-User-Login", "admin"],
    ["X-Consumer-Username", "admin"],
    ["X-Consumer-Groups", "admin"],
    ["X-Credential-Identifier", "admin"],
    ["X-Authenticated-Scope", "admin"],
    ["X-Anonymous-Consumer", "true"],
    ["X-Userinfo", "e30="],
    ["X-Forwarded-For", "1.2.3.4"],
    ["X_Forwarded_Uri", "/x"],
    ["X-Forwarded-Host", "x"],
    ["X-HTTP-Method-Override", "DELETE"],
    ["X-Http-Method", "DELETE"],
    ["X_Method_Override", "DELETE"],
    ["X-Original-URL", "/admin"],
    ["X-Rewrite-URL", "/admin"],
    ["Host", "evil"],
    ["Connection", "close"],
    ["Keep-Alive", "timeout=5"],
    ["Proxy-Connection", "close"],
    ["Proxy-Authorization", "Basic x"],
    ["TE", "gzip"],
    ["Trailer", "x"],
    ["Transfer-Encoding", "chunked"],
    ["Upgrade", "h2c"],
    ["HTTP2-Settings", "x"],
    ["Expect", "100-continue"],
    ["Content-Length", "3"],
    ["traceparent", "00-x"],
    ["baggage", "a=b"],
  ])("%s", (name, value) => {
    expect(requestHeaders([name, value, "Accept", "a"], "1.1", own)).toEqual([
      "Accept",
      "a",
      "via",
      "1.1 svc-pep",
      ...own,
    ]);
  });

  test("a header that any Connection header nominates", () => {
    const received = [
      "connection",
      "",
      "Connection",
      "X-Hop , authorization",
      "connection",
      "x_other",
      "X-Hop",
      "1",
      "X-Other",
      "2",
      "A",
      "3",
    ];
    expect(requestHeaders(received, "1.1", own)).toEqual(["A", "3", "via", "1.1 svc-pep", ...own]);
  });
});

test("a content header that the agent nominates in Connection reaches the upstream all the same, since the body was read by it", () => {
  const content = ["Content-Type", "application/json", "Content-Encoding", "identity"];
  const received = [...content, "Connection", "Content-Type, content_encoding"];
  expect(requestHeaders(received, "1.1", [])).toEqual([...content, "via", "1.1 svc-pep"]);
});

test.each([
  ...[
    "Accept",
    "Cookie",
    "Origin",
    "Referer",
    "User-Agent",
    "X-Api-Key",
    "X_Api_Key",
    "X-Requested-With",
    "X-CSRF-Token",
  ],
  ...[
    "X-Client-Id",
    "X-Client-Version",
    "X-Request-Id",
    "X-Service-Id",
    "X-Original-Name",
    "X-Method-Name",
    "Destination",
  ],
  ...["Mcp-Session-Id", "Mcp-Method", "Last-Event-ID", "If-Match", "Range", "Content-Type", "Idempotency-Key", "DPoP"],
  ...["X-Consumer-Key", "X-Consumer-Notes", "X-Credentials", "X-Scheme-Version", "Impersonate-User", "CF-Ray"],
  ...["X-Amz-Date", "X-Amz-Content-Sha256", "X-GitHub-Api-Version", "X-Goog-Api-Key", "X-MS-Version", "Client-Id"],
])("an agent's %s reaches the upstream", (name) => {
  expect(requestHeaders([name, "x"], "1.1", [])).toEqual([name, "x", "via", "1.1 svc-pep"]);
});

test("the agent's other headers are forwarded unchanged, with repeats and spelling", () => {
  const received = ["Accept", "a", "Cookie", "x=1", "accept", "b", "X-Real", "caf\u00e9", "Via", "1.0 agent"];
  expect(requestHeaders(received, "1.0", own)).toEqual([...received, "via", "1.0 svc-pep", ...own]);
});

test("an upstream can neither imitate a block nor return a token", () => {
  const received = [
    ...["X-Svc-Blocked", "policy", "x_svc_blocked", "policy", "Txn-Token", "t", "Agent-Identity", "i"],
    ...["X.Svc.Blocked", "policy", "Txn+Token", "t", "AgentIdentity", "i"],
    ...["X-Echo", "token=narrowed;", "Connection", "X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=1"],
    ...["Set-Cookie", "a=1", "Set-Cookie", "b=2", "Trailer", "X-Sum", "Content-Length", "3"],
  ];
  expect(responseHeaders(received, ["narrowed"])).toEqual([
    ...["Set-Cookie", "a=1", "Set-Cookie", "b=2", "Trailer", "X-Sum", "Content-Length", "3"],
  ]);
});

test("an upstream cannot lead its clients to another server, past the enforcement point", () => {
  expect(responseHeaders(["Alt-Svc", 'h2="elsewhere.example:443"', "Server", "x"], [])).toEqual(["Server", "x"]);
});

test.each([
  [["TE", "trailers"], true],
  [["te", "gzip, trailers"], true],
  [["te", "gzip", "TE", "Trailers"], true],
  [["te", "trailers;q=1x"], false],
  [[], false],
])("%j accepts trailers: %s", (received, want) => {
  expect(acceptsTrailers(received)).toBe(want);
});

describe("the credentials that an upstream receives", () => {
  const credential = { sessionId: "s", token: "presented" };
  const agentsOwn = { inbound: { credential, foreignAuthorization: "Basic x" } };
  const taken = { token: { accessToken: "narrowed" }, transactionToken: "txn", identityAssertion: "id" } as HopTaken;
  const ours = ["x-svc-session", "s", "txn-token", "txn", "agent-identity", "id"];
  test.each([
    ["hop_token", { kind: "hop_token" }, { ...agentsOwn, taken }, ["authorization", "Bearer narrowed", ...ours]],
    ["hop_token without a token", { kind: "hop_token" }, agentsOwn, ["authorization", "Basic x"]],
    ["hop_token without anything", { kind: "hop_token" }, { inbound: {} }, []],
    [
      "passthrough",
      { kind: "passthrough" },
      { ...agentsOwn, taken },
      ["authorization", "Basic x", "x-svc-authorization", "Bearer narrowed", ...ours],
    ],
    ["passthrough without a token", { kind: "passthrough" }, agentsOwn, ["authorization", "Basic x"]],
    ["none", { kind: "none" }, { ...agentsOwn, taken }, []],
    [
      "a secret of its own",
      { kind: "header", name: "x-api-key", value: "k" },
      { inbound: { credential }, taken },
      ["x-api-key", "k"],
    ],
    [
      "a secret of its own without a token",
      { kind: "header", name: "x-api-key", value: "k" },
      { inbound: {} },
      ["x-api-key", "k"],
    ],
    ["the session of a decided call", { kind: "session" }, { ...agentsOwn, isDecided: true }, ["x-svc-session", "s"]],
    ["no session of a call that was not decided", { kind: "session" }, agentsOwn, []],
  ] as const)("%s", (_name, shown, outbound, want) => {
    expect(credentialHeaders(shown, { isDecided: false, ...outbound })).toEqual(want);
  });

  test("an agent cannot set an upstream's own secret", () => {
    const headers = requestHeaders(["X-Api-Key", "mine", "x_api_key", "mine"], "1.1", ["x-api-key", "k"]);
    expect(headers).toEqual(["via", "1.1 svc-pep", "x-api-key", "k"]);
  });

  test("every token of a call is a secret in its response", () => {
    expect(secretsOf({ kind: "hop_token" }, taken)).toEqual(["narrowed", "txn", "id"]);
    expect(secretsOf({ kind: "header", name: "x-api-key", value: "secret" }, undefined)).toEqual(["secret"]);
    expect(secretsOf({ kind: "none" }, undefined)).toEqual([]);
  });
});
