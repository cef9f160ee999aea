import { decodeUnverifiedHopToken } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
  { methods: ["POST"], path: "/send", target: "http:ledger/send", data_class: "finance" },
  { methods: ["GET", "POST", "OPTIONS"], path: "/any/*", target: "http:ledger/any", data_class: "finance" },
];

async function setup() {
  const upstream = await startedUpstream();
  const hosts = ["ledger.internal"];
  const running = await startedPep({ upstreams: [{ name: "ledger", url: upstream.url, hosts, routes }] });
  const { policies } = running.controlPlane;
  for (const operation of ["read", "send", "any"]) policies.set(`http:ledger/${operation}`, {});
  policies.set("http:ledger/write", { privileged: true });
  const session = await running.session();
  const lines = [`Authorization: ${session.authorization}`, `X-Svc-Session: ${session["x-svc-session"]}`];
  /** The bytes of a request: its line, our two headers, others, and a body. */
  const request = (line: string, headers: string[] = [], body = "") =>
    [line, ...lines, ...headers, "", body].join("\r\n");
  return { ...running, upstream, session, request };
}

const host = (port: number) => `Host: 127.0.0.1:${port}`;

describe("case 51: Expect", () => {
  test("100 Continue comes after the decision, and the narrowed token goes upstream", async () => {
    const { upstream, request, port, controlPlane } = await setup();
    let decide = () => {};
    const deciding = new Promise<void>((resolve) => {
      decide = resolve;
    });
    controlPlane.override = ({ path }) => {
      if (path === "/v1/authorize") decide();
      return undefined;
    };
    const agent = await rawConnection(
      port,
      request("POST /ledger/write HTTP/1.1", [
        host(port),
        "Expect: 100-continue",
        "Content-Type: application/json",
        "Content-Length: 7",
      ]),
    );
    await deciding;
    expect(agent.text()).toBe("");
    await agent.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    expect(controlPlane.countOf("/v1/token/exchange")).toBe(0);
    agent.socket.write('{"a":1}');
    await agent.until(/HTTP\/1\.1 200 OK/);
    expect(await upstream.received[0]?.body).toBe('{"a":1}');
    expect(upstream.received[0]?.headers.expect).toBeUndefined();
    const token = upstream.received[0]?.headers.authorization?.replace("Bearer ", "") ?? "";
    expect(decodeUnverifiedHopToken(token)?.aud).toBe("http:ledger/write");
  });

  test("a refused call gets its response without 100 Continue, and its connection ends", async () => {
    const { upstream, request, port, controlPlane } = await setup();
    controlPlane.policies.set("http:ledger/write", { denyReason: "TAINT_BLOCKED" });
    const headers = [host(port), "Expect: 100-continue", "Content-Length: 7"];
    const agent = await rawConnection(port, request("POST /ledger/write HTTP/1.1", headers));
    const text = await agent.closed();
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    expect(text).not.toContain("100 Continue");
    expect(upstream.received).toHaveLength(0);
  });
});

test("case 52: a Connection header cannot remove our headers, and Via is appended", async () => {
  const { upstream, request, port, session } = await setup();
  const headers = [
    host(port),
    "Connection: Authorization, Txn-Token, X-Svc-Session, X-Hop",
    "X-Hop: 1",
    "Keep-Alive: timeout=9",
    "TE: trailers",
    "Via: 1.0 agent",
  ];
  const agent = await rawConnection(port, request("GET /ledger/read HTTP/1.1", headers));
  await agent.until(/HTTP\/1\.1 200/);
  const received = upstream.received[0]?.headers ?? {};
  expect(received.authorization).toMatch(/^Bearer ey/);
  expect(received.authorization).not.toBe(session.authorization);
  expect(received["x-svc-session"]).toBe(session["x-svc-session"]);
  expect(received["x-hop"]).toBeUndefined();
  expect(received["keep-alive"]).toBeUndefined();
  expect(received.te).toBe("trailers");
  expect(received.via).toBe("1.0 agent, 1.1 svc-pep");
  expect(agent.text()).toMatch(/^via: 1\.1 svc-pep\r$/m);
});

describe("case 53: a request with ambiguous framing is 400 and closed, and reaches no upstream", () => {
  test.each([
    ["both framings", ["Transfer-Encoding: chunked", "Content-Length: 3"], "0\r\n\r\n"],
    ["two lengths", ["Content-Length: 3", "Content-Length: 4"], "abcd"],
    ["two equal lengths", ["Content-Length: 3", "Content-Length: 3"], "abc"],
    ["a signed length", ["Content-Length: +5"], "abcde"],
    ["a list of lengths", ["Content-Length: 3, 3"], "abc"],
    ["a coding that is not chunked", ["Transfer-Encoding: xchunked"], "0\r\n\r\n"],
    ["chunked before another coding", ["Transfer-Encoding: chunked, identity"], "0\r\n\r\n"],
    ["obsolete folding", ["X-A: 1\r\n 2", "Content-Length: 0"], ""],
    ["a space before the colon", ["Content-Length : 3"], "abc"],
    ["a bare line feed in a header", ["X-A: 1\n2"], ""],
    ["a NUL in a header", ["X-A: 1\u00002"], ""],
    ["a chunk of no size", ["Transfer-Encoding: chunked"], "zz\r\nabc\r\n0\r\n\r\n"],
  ])("%s", async (_name, headers, body) => {
    const { upstream, request, port } = await setup();
    const agent = await rawConnection(port, request("POST /ledger/send HTTP/1.1", [host(port), ...headers], body));
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 400 /);
    for (const { body: arrived } of upstream.received) await expect(arrived).rejects.toThrow();
  });
});

describe("case 54: a method that is not forwarded", () => {
  test.each([
    ["CONNECT", (port: number) => `CONNECT ledger.internal:443 HTTP/1.1\r\nHost: 127.0.0.1:${port}`],
    ["TRACE", (port: number) => `TRACE /ledger/any/x HTTP/1.1\r\nHost: 127.0.0.1:${port}`],
    ["OPTIONS *", (port: number) => `OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:${port}`],
  ])("%s is unresolvable_call", async (_name, line) => {
    const { upstream, request, port, metric } = await setup();
    const agent = await rawConnection(port, request(line(port)));
    expect(await agent.until(/\r\n\r\n\{.*\}/s)).toMatch(/^HTTP\/1\.1 404 .*x-svc-blocked: unresolvable_call/is);
    expect(upstream.received).toHaveLength(0);
    expect(await metric('svc_pep_blocks_total{cause="unresolvable_call"}')).toBe(1);
  });
});

test("case 55: the authority of an absolute form takes precedence, and Host is rewritten", async () => {
  const { upstream, request, port } = await setup();
  const agent = await rawConnection(
    port,
    request("GET http://ledger.internal/read?q HTTP/1.1", ["Host: evil.example"]),
  );
  await agent.until(/HTTP\/1\.1 200/);
  expect(upstream.received[0]).toMatchObject({ url: "/read?q", headers: { host: new URL(upstream.url).host } });
});

describe("case 56: an ambiguous path is unresolvable_call, on the wire too", () => {
  test.each([
    "/ledger/any/%2e%2e/admin",
    "/ledger/any//x",
    "//ledger/any/x",
    "/ledger/any/a\\..\\admin",
    "/ledger/any/a%2fb",
    "/ledger/any/a%5cb",
    "/ledger/any/;x",
    "/ledger/any/x#y",
    "/ledger/any/%00",
    "/ledger/any/%252e",
    "/ledger/any/caf\u00e9",
    "/ledger/any/x\u0001",
    "ledger/any/x",
  ])("%j", async (path) => {
    const { upstream, request, port } = await setup();
    const agent = await rawConnection(port, request(`GET ${path} HTTP/1.1`, [host(port), "Connection: close"]));
    expect(await agent.closed()).toMatch(/^HTTP\/1\.1 (404 .*x-svc-blocked: unresolvable_call|400 )/is);
    expect(upstream.received).toHaveLength(0);
  });
});

describe("case 57: headers that an agent cannot set", () => {
  test("our headers and their look-alikes are removed", async () => {
    const { upstream, request, port } = await setup();
    const headers = [
      "Txn-Token: forged",
      "Agent-Identity: forged",
      "X-Svc-Role: forged",
      "X_Svc_Session: forged",
      "txn_token: forged",
    ];
    const agent = await rawConnection(port, request("GET /ledger/read HTTP/1.1", [host(port), ...headers]));
    await agent.until(/HTTP\/1\.1 200/);
    expect(upstream.received[0]?.rawHeaders.join("\n")).not.toContain("forged");
  });

  test.each([
    ["two bearers", (authorization: string) => [`Authorization: ${authorization}`, `Authorization: ${authorization}`]],
    ["no bearer", () => []],
    ["another scheme", () => ["Authorization: Basic eDp5"]],
    ["a bearer that is no JWT", () => ["Authorization: Bearer abc"]],
    ["trailing junk", (authorization: string) => [`Authorization: ${authorization} x`]],
    ["a bearer of 20 kB", () => [`Authorization: Bearer ${"a".repeat(20_000)}.b.c`]],
  ])("%s is unauthorized", async (_name, authorizations) => {
    const { upstream, session, port, metric } = await setup();
    const lines = ["GET /ledger/read HTTP/1.1", host(port), `X-Svc-Session: ${session["x-svc-session"]}`];
    const agent = await rawConnection(port, [...lines, ...authorizations(session.authorization), "", ""].join("\r\n"));
    expect(await agent.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 401 .*www-authenticate: Bearer/is);
    expect(upstream.received).toHaveLength(0);
    expect(await metric('svc_pep_blocks_total{cause="unauthorized"}')).toBe(1);
  });

  test("a bearer names its session itself, and the upstream receives that session", async () => {
    const { session, url, upstream } = await setup();
    const response = await fetch(`${url}/ledger/read`, { headers: { authorization: session.authorization } });
    expect(response.status).toBe(200);
    expect(upstream.received[0]?.headers["x-svc-session"]).toBe(session["x-svc-session"]);
  });

  test.each([
    ["twice", (id: string) => [id, id]],
    ["joined", (id: string) => [`${id}, ${id}`]],
    ["empty", () => [""]],
    ["of another session", () => ["another"]],
  ])("a session that is sent %s is unauthorized", async (_name, sessions) => {
    const { session, port, controlPlane } = await setup();
    const headers = [host(port), `Authorization: ${session.authorization}`];
    const lines = sessions(session["x-svc-session"]).map((id) => `X-Svc-Session: ${id}`);
    const agent = await rawConnection(port, ["GET /ledger/read HTTP/1.1", ...headers, ...lines, "", ""].join("\r\n"));
    expect(await agent.until(/\r\n\r\n\{.*\}/s)).toMatch(/^HTTP\/1\.1 401 .*X-Svc-Session/s);
    expect(controlPlane.asked).toHaveLength(0);
  });

  test.each([
    ["nothing", undefined, "no bearer token was presented"],
    ["another scheme", "Basic eDp5", "another scheme than Bearer"],
    ["another scheme alone", "Negotiate", "another scheme than Bearer"],
    ["a token of another service", "Bearer abc", "no token of this service"],
    ["a bearer without a token", "Bearer", "no token of this service"],
  ])(
    "a request with %s is rejected with that reason, which does not repeat the credential",
    async (_name, authorization, text) => {
      const { url } = await setup();
      const response = await fetch(`${url}/ledger/read`, { headers: authorization ? { authorization } : {} });
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      const body = await response.text();
      expect(JSON.parse(body).error).toEqual({ code: "unauthorized", message: expect.stringContaining(text) });
      expect(body).not.toMatch(/eDp5|abc/);
    },
  );

  test("another session's bearer is unauthorized before anything is spent", async () => {
    const { session, url, controlPlane } = await setup();
    const headers = { ...session, "x-svc-session": "another" };
    expect((await fetch(`${url}/ledger/read`, { headers })).status).toBe(401);
    expect(controlPlane.asked).toHaveLength(0);
  });
});

test("two Hosts are 400", async () => {
  const { request, port } = await setup();
  const agent = await rawConnection(port, request("GET /ledger/read HTTP/1.1", [host(port), host(port)]));
  expect(await agent.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /);
});
