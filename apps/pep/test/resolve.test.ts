import { describe, expect, test } from "vitest";
import { type RequestLine, resolve, resolveTunnel } from "../src/resolve/resolve.ts";
import { files, ledger, upstreamsFrom } from "./support/upstreams.ts";

const api = {
  name: "api",
  url: "http://api.internal/v2/",
  hosts: ["api.internal:8080"],
  routes: [
    { methods: ["GET"], path: "/", target: "http:api/root", data_class: "public" },
    { methods: ["GET"], path: "/x", target: "http:api/x", data_class: "public" },
    { methods: ["POST"], path: "/planner", target: "planner", target_kind: "agent", data_class: "finance public" },
    { connect: true, target: "http:api/tunnel", data_class: "public" },
  ],
};
const rooted = { name: "rooted", url: "http://127.0.0.1:9301", protocol: "mcp", data_class: "docs" };
const upstreams = upstreamsFrom([ledger, files, api, rooted]);

const own = new Set(["127.0.0.1:16001", "localhost:16001"]);
const at = (method: string, target: string, ...hosts: string[]): RequestLine => ({
  method,
  target,
  hosts: hosts.length === 0 ? ["127.0.0.1:16001"] : hosts,
  own,
});
const summary = (line: RequestLine) => {
  const place = resolve(upstreams, line);
  if (place.kind === "unresolvable") return place.kind;
  const rest = place.kind === "call" ? ` ${place.call.target} ${place.call.dataClass}` : "";
  return `${place.kind} ${place.upstream.name} ${place.path}${rest}`;
};

describe("an upstream is addressed in three ways", () => {
  test.each([
    ["a path prefix", at("GET", "/ledger/entries/7"), "call ledger /entries/7 http:ledger/read_entry finance.entries"],
    [
      "a query goes along untouched",
      at("GET", "/ledger/entries?a=%zz&b"),
      "call ledger /entries?a=%zz&b http:ledger/list_entries finance.entries",
    ],
    [
      "localhost is the listener too",
      at("GET", "/ledger/entries", "LOCALHOST:16001"),
      "call ledger /entries http:ledger/list_entries finance.entries",
    ],
    ["a prefix below a base path", at("GET", "/api/x"), "call api /v2/x http:api/x public"],
    ["a prefix alone is the root of a base path", at("GET", "/api/"), "call api /v2/ http:api/root public"],
    ["a prefix alone without a slash is not", at("GET", "/api"), "unmapped api /v2"],
    ["a prefix alone of an upstream without a base path is its root", at("GET", "/ledger?q"), "unmapped ledger /?q"],
    [
      "Host of an upstream",
      at("GET", "/entries", "Ledger.internal.:443"),
      "call ledger /entries http:ledger/list_entries finance.entries",
    ],
    [
      "Host of an upstream with a base path",
      at("GET", "/v2/x", "api.internal:8080"),
      "call api /v2/x http:api/x public",
    ],
    ["outside the base path", at("GET", "/x", "api.internal:8080"), "unmapped api /x"],
    ["a longer name than the base path", at("GET", "/v2x", "api.internal:8080"), "unmapped api /v2x"],
    [
      "absolute form",
      at("GET", "http://ledger.internal/entries?x", "other"),
      "call ledger /entries?x http:ledger/list_entries finance.entries",
    ],
    [
      "absolute form in capitals",
      at("GET", "HTTP://LEDGER.INTERNAL:80/entries"),
      "call ledger /entries http:ledger/list_entries finance.entries",
    ],
    ["absolute form without a path", at("GET", "http://ledger.internal?x"), "unmapped ledger /?x"],
    [
      "absolute form decides against Host",
      at("GET", "http://ledger.internal/entries", "files.internal"),
      "call ledger /entries http:ledger/list_entries finance.entries",
    ],
    ["a delegation to an agent", at("POST", "/api/planner"), "call api /v2/planner planner finance public"],
  ])("%s", (_name, line, want) => {
    expect(summary(line)).toBe(want);
  });
});

describe("an authority that no upstream lists is unresolvable", () => {
  test.each([
    ["another Host", at("GET", "/ledger/entries", "evil.example")],
    ["the listener's address in absolute form", at("GET", "http://127.0.0.1:16001/ledger/entries")],
    ["another port of the listener's", at("GET", "/ledger/entries", "127.0.0.1:16002")],
    ["an unlisted absolute form", at("GET", "http://evil.example/entries", "ledger.internal")],
    ["user information", at("GET", "http://ledger.internal@evil.example/entries")],
    ["user information of a listed host", at("GET", "http://user@ledger.internal/entries")],
    ["another scheme", at("GET", "ftp://ledger.internal/entries")],
    ["two Hosts", at("GET", "/entries", "ledger.internal", "ledger.internal")],
    ["an unknown prefix", at("GET", "/nobody/entries")],
    ["an encoded prefix", at("GET", "/%6cedger/entries")],
    ["the root", at("GET", "/")],
    ["the asterisk", at("OPTIONS", "*")],
    ["TRACE", at("TRACE", "/ledger/entries")],
    ["CONNECT to a path", at("CONNECT", "/ledger/entries")],
    ["authority form", at("GET", "ledger.internal:443")],
  ])("%s", (_name, line) => {
    expect(summary(line)).toBe("unresolvable");
  });

  test("no Host", () => {
    expect(resolve(upstreams, { ...at("GET", "/ledger/entries"), hosts: [] }).kind).toBe("unresolvable");
  });
});

describe("routes", () => {
  test.each([
    ["a value keeps its case", "GET", "/Users", "call ledger /Users http:ledger/read_page public"],
    ["capitals cannot dodge an earlier route", "GET", "/Entries", "unresolvable"],
    ["a trailing slash included", "GET", "/entries/", "unmapped ledger /entries/"],
    ["a name takes one segment", "GET", "/entries/7/lines", "unmapped ledger /entries/7/lines"],
    ["a star takes a rest", "GET", "/files/a/b.txt", "call ledger /files/a/b.txt http:ledger/read_file finance.files"],
    ["a star takes no empty rest", "GET", "/files/", "unmapped ledger /files/"],
    ["the method counts", "DELETE", "/entries", "unmapped ledger /entries"],
    ["file order counts", "GET", "/admin", "call ledger /admin http:ledger/admin finance"],
    ["an encoded letter cannot dodge an earlier route", "GET", "/%61dmin", "unresolvable"],
    ["parameters cannot dodge an earlier route", "GET", "/admin;x=1", "unresolvable"],
    ["encoded parameters cannot either", "GET", "/admin%3bx", "unresolvable"],
    [
      "an encoded value is a value",
      "GET",
      "/entries/%41%20b",
      "call ledger /entries/%41%20b http:ledger/read_entry finance.entries",
    ],
  ])("%s", (_name, method, path, want) => {
    expect(summary(at(method, `/ledger${path}`))).toBe(want);
    expect(summary(at(method, path, "ledger.internal"))).toBe(want);
  });
});

describe("an MCP upstream has one endpoint", () => {
  test.each([
    ["POST is a message", at("POST", "/files"), "message files /mcp"],
    ["GET is the protocol's", at("GET", "/files?x=1"), "call files /mcp?x=1 mcp:files protocol"],
    ["DELETE is the protocol's", at("DELETE", "/mcp", "files.internal"), "call files /mcp mcp:files protocol"],
    ["beyond the endpoint", at("POST", "/files/"), "unmapped files /mcp/"],
    ["farther beyond", at("POST", "/files/mcp"), "unmapped files /mcp/mcp"],
    ["before the endpoint", at("POST", "/", "files.internal"), "unmapped files /"],
    ["another method", at("PUT", "/files"), "unmapped files /mcp"],
    ["an endpoint at the root", at("POST", "/rooted"), "message rooted /"],
    ["an endpoint at the root with its slash", at("POST", "/rooted/"), "message rooted /"],
  ])("%s", (_name, line, want) => {
    expect(summary(line)).toBe(want);
  });
});

test("a tunnel opens only to a host whose route declares it", () => {
  expect(resolveTunnel(upstreams, "api.internal:8080")).toMatchObject({ call: { target: "http:api/tunnel" } });
  expect(
    ["api.internal", "ledger.internal:443", "evil.example:443", ""].map((host) => resolveTunnel(upstreams, host).kind),
  ).toEqual(["unresolvable", "unmapped", "unresolvable", "unresolvable"]);
});
