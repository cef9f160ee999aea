import { describe, expect, test } from "vitest";
import { belowPrefix, type PrefixedCall } from "../src/message/below-prefix.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const ledger: PrefixedCall = {
  prefix: "/ledger",
  origin: "https://ledger.internal:8443",
  hosts: ["ledger.internal"],
  basePath: "",
  path: "/entries/7?x=1",
  own: new Set(["127.0.0.1:16001", "localhost:16001"]),
};
const api = { ...ledger, prefix: "/api", basePath: "/v2", path: "/v2/entries" };
const files = { ...ledger, prefix: "/files", basePath: "/mcp", path: "/mcp" };

const rewritten = (name: string, value: string, call = ledger) => belowPrefix([name, value], call)[1];

describe("a Location leads below the upstream's own prefix, or to its own origin", () => {
  test.each([
    ["a path", "/bank/transfers", ledger, "/ledger/bank/transfers"],
    ["a path with query and fragment", "/x?a=%2f#b", ledger, "/ledger/x?a=%2f#b"],
    ["a relative path", "8", ledger, "/ledger/entries/8"],
    ["a query alone", "?page=2", ledger, "/ledger/entries/7?page=2"],
    ["dot segments", "/../../bank/x", ledger, "/ledger/bank/x"],
    ["encoded dot segments", "%2e%2e/%2e%2e/%2e%2e/bank", ledger, "/ledger/bank"],
    ["backslashes", "\\\\evil.example\\x", ledger, "https://evil.example/x"],
    ["two slashes", "//evil.example/x", ledger, "https://evil.example/x"],
    ["a tab that clients drop", "/\t/evil.example/x", ledger, "https://evil.example/x"],
    ["the upstream's own origin", "https://ledger.internal:8443/x", ledger, "/ledger/x"],
    ["a host that names the upstream", "http://LEDGER.internal/x", ledger, "/ledger/x"],
    ["another origin", "https://login.example/x?y", ledger, "https://login.example/x?y"],
    ["another origin without a path", "https://login.example", ledger, "https://login.example"],
    ["another port of the upstream", "https://ledger.internal:9/x", ledger, "https://ledger.internal:9/x"],
    ["another scheme", "app://callback?code=1", ledger, "app://callback?code=1"],
    ["this listener", "http://127.0.0.1:16001/bank/x", ledger, "/ledger/bank/x"],
    ["this listener by name", "http://localhost:16001/bank/x", ledger, "/ledger/bank/x"],
    ["this listener in another spelling", "http://0x7f.1:16001/bank/x", ledger, "/ledger/bank/x"],
    ["this listener with a user", "http://a:b@127.0.0.1:16001/bank", ledger, "/ledger/bank"],
    ["this listener, below its prefix", "http://127.0.0.1:16001/ledger/x", ledger, "/ledger/x"],
    ["a longer name than its prefix", "http://127.0.0.1:16001/ledgers/x", ledger, "/ledger/ledgers/x"],
    ["below a base path", "/v2/x", api, "/api/x"],
    ["outside of a base path", "/v1/x", api, "https://ledger.internal:8443/v1/x"],
    ["a longer name than the base path", "/v22/x", api, "https://ledger.internal:8443/v22/x"],
    ["an endpoint", "/mcp", files, "/files"],
    ["bytes beyond ASCII", "/caf\u00c3\u00a9", ledger, "/ledger/caf%C3%A9"],
    ["no URL", "http://[", ledger, undefined],
  ])("%s: %j", (_name, value, call, want) => {
    expect(rewritten("Location", value, call)).toBe(want);
    expect(rewritten("content-location", value, call)).toBe(want);
  });

  test.each([
    ["Refresh", "5; url=/bank/x", "5; url=/ledger/bank/x"],
    ["refresh", "0,'//evil.example/x'", "0; url=https://evil.example/x"],
    ["refresh", "5", "5"],
    ["refresh", "soon", undefined],
    [
      "Link",
      '</entries?page=2>; rel="next", <//cdn.example/a>; rel=preload',
      '</ledger/entries?page=2>; rel="next", <https://cdn.example/a>; rel=preload',
    ],
    ["Link", "<http://[>; rel=next", undefined],
    ["Clear-Site-Data", '"*"', undefined],
    ["Service-Worker-Allowed", "/", undefined],
    ["X-Next", "/bank/x", "/bank/x"],
    ["__proto__", "x", "x"],
  ])("as does %s: %s", (name, value, want) => {
    expect(rewritten(name, value)).toBe(want);
  });
});

describe("a cookie is for its upstream's prefix alone", () => {
  test.each([
    ["the root", "a=1; Path=/", ledger, "a=1; Path=/ledger"],
    ["a path", "a=1; Path=/entries; HttpOnly", ledger, "a=1; HttpOnly; Path=/ledger/entries"],
    ["no path", "a=1", ledger, "a=1; Path=/ledger/entries"],
    ["no path, at an endpoint", "a=1", files, "a=1; Path=/files"],
    ["a path that is none", "a=1; path=bank", ledger, "a=1; Path=/ledger/entries"],
    ["two paths, of which clients take the last", "a=1; Path=/x; PATH = /bank ", ledger, "a=1; Path=/ledger/bank"],
    ["another upstream's prefix", "a=1; Path=/bank", ledger, "a=1; Path=/ledger/bank"],
    ["a host", "a=1; Domain=127.0.0.1; Path=/; Secure", ledger, "a=1; Secure; Path=/ledger"],
    ["the root above a base path", "a=1; Path=/", api, "a=1; Path=/api"],
    ["the base path", "a=1; Path=/v2", api, "a=1; Path=/api"],
    ["below the base path", "a=1; Path=/v2/x", api, "a=1; Path=/api/x"],
    ["beside the base path", "a=1; Path=/v1", api, "a=1; Path=/api/v1"],
  ])("%s: %s", (_name, value, call, want) => {
    expect(rewritten("Set-Cookie", value, call)).toBe(want);
  });

  test("a cookie of the old kind is dropped", () => {
    expect(rewritten("Set-Cookie2", "a=1")).toBeUndefined();
  });
});

describe("two upstreams under one origin", () => {
  async function setup() {
    const bank = await startedUpstream();
    const hostile = await startedUpstream((_request, response) => {
      response.writeHead(307, { location: "/bank/any", "set-cookie": "sid=planted; Path=/" }).end();
    });
    const routes = [{ methods: ["GET", "POST"], path: "/any", target: "http:app/any", data_class: "docs" }];
    const running = await startedPep({
      upstreams: [
        { name: "bank", url: bank.url, routes },
        { name: "hostile", url: hostile.url, hosts: ["hostile.internal"], routes },
      ],
    });
    running.controlPlane.policies.set("http:app/any", {});
    return { ...running, bank, hostile };
  }

  test("a hostile redirect does not make a client repeat its POST at the other", async () => {
    const { url, session, bank, hostile } = await setup();
    const response = await fetch(`${url}/hostile/any`, { method: "POST", headers: await session(), body: "{}" });
    expect([response.status, response.url]).toEqual([404, `${url}/hostile/bank/any`]);
    expect([bank.received.length, hostile.received.length]).toEqual([0, 1]);
  });

  test("nor does its cookie reach the other", async () => {
    const { url, session } = await setup();
    const response = await fetch(`${url}/hostile/any`, { headers: await session(), redirect: "manual" });
    expect(response.headers.getSetCookie()).toEqual(["sid=planted; Path=/hostile"]);
  });

  test("nor does the answer to a refused WebSocket lead there", async () => {
    const { port, session } = await setup();
    const { authorization } = await session();
    const lines = ["GET /hostile/any HTTP/1.1", `Host: 127.0.0.1:${port}`, `Authorization: ${authorization}`];
    const upgrade = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ];
    const text = await (await rawConnection(port, [...lines, ...upgrade, "", ""].join("\r\n"))).until(/\r\n\r\n/);
    expect(text).toMatch(/^HTTP\/1\.1 307 /);
    expect(text).toContain("location: /hostile/bank/any\r\n");
    expect(text).toContain("set-cookie: sid=planted; Path=/hostile\r\n");
  });

  test("by its own host name an upstream's answer is as it was", async () => {
    const { port, session } = await setup();
    const { authorization } = await session();
    const lines = ["GET /any HTTP/1.1", "Host: hostile.internal", `Authorization: ${authorization}`, "", ""];
    const text = await (await rawConnection(port, lines.join("\r\n"))).until(/\r\n\r\n/);
    expect(text).toContain("location: /bank/any\r\n");
    expect(text).toContain("set-cookie: sid=planted; Path=/\r\n");
  });
});
