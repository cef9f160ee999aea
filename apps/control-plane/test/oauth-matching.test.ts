import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRedirectUri } from "../src/discovery/redirect-uri.ts";
import { isGuarded, scopesIn } from "../src/people/authorize-request.ts";
import { isRegistered } from "../src/people/clients.ts";
import { lookAlikesOf } from "../src/people/look-alikes.ts";

const segment = fc.stringMatching(/^[a-z0-9-]{1,12}$/);
const path = fc.array(segment, { maxLength: 4 }).map((parts) => parts.map((part) => `/${part}`).join(""));
const host = fc.stringMatching(/^[a-z]{1,10}$/).map((name) => `${name}.test`);
const port = fc.integer({ min: 1, max: 65_535 });

describe("a resource is guarded", () => {
  const resources = [
    new URL("https://tools.test/mcp"),
    new URL("https://bank.test:8443/"),
    new URL("http://10.0.0.7/a/"),
  ];

  test.each([
    ["the one that is listed", "https://tools.test/mcp", true],
    ["with a slash at its end", "https://tools.test/mcp/", true],
    ["below it", "https://tools.test/mcp/ledger", true],
    ["any of a host", "https://bank.test:8443/any/thing", true],
    ["a host itself", "https://bank.test:8443", true],
    ["listed with a slash, asked for without", "http://10.0.0.7/a", true],
    ["beside it, by its beginning", "https://tools.test/mcp2", false],
    ["above it", "https://tools.test/", false],
    ["another host", "https://evil.test/mcp", false],
    ["a longer host", "https://tools.test.evil.test/mcp", false],
    ["the host as a user", "https://tools.test@evil.test/mcp", false],
    ["with credentials", "https://ada:secret@tools.test/mcp", false],
    ["another port", "https://tools.test:8443/mcp", false],
    ["another scheme", "http://tools.test/mcp", false],
    ["out of it by dots", "https://tools.test/mcp/../admin", false],
    ["out of it by encoded dots", "https://tools.test/mcp/%2e%2e/admin", false],
    ["out of it by a backslash", "https://tools.test/mcp\\..\\admin", false],
    ["dots that lead back", "https://tools.test/mcp/../mcp/ledger", false],
    ["with a fragment", "https://tools.test/mcp#a", false],
    ["with an empty fragment", "https://tools.test/mcp#", false],
    ["no address", "mcp", false],
  ])("%s", (_name, resource, guarded) => expect(isGuarded({ resources }, resource)).toBe(guarded));

  test("exactly where its origin is a listed one and its path lies below, for any of both", () => {
    fc.assert(
      fc.property(host, path, host, path, (listedHost, listedPath, askedHost, below) => {
        const listed = { resources: [new URL(`https://${listedHost}${listedPath}`)] };
        expect(isGuarded(listed, `https://${listedHost}${listedPath}${below}`)).toBe(true);
        expect(isGuarded(listed, `https://${askedHost}${listedPath}${below}`)).toBe(askedHost === listedHost);
        expect(isGuarded(listed, `https://${listedHost}${listedPath}x${below}`)).toBe(false);
      }),
    );
  });

  test("not at all where none is listed", () => {
    fc.assert(fc.property(fc.webUrl(), (resource) => !isGuarded({ resources: [] }, resource)));
  });
});

const client = (...redirectUris: string[]) => ({ clientId: "notebook", name: "Notebook", redirectUris });

describe("a redirect address", () => {
  test("is registered as it is, with any port of a loopback one", () => {
    fc.assert(
      fc.property(fc.constantFrom("127.0.0.1", "[::1]", "localhost", "127.1.2.3"), path, port, (loopback, at, any) => {
        const known = client(`http://${loopback}${at}`);
        expect(isRegistered(known, `http://${loopback}:${any}${at}`)).toBe(true);
        expect(isRegistered(known, `https://${loopback}:${any}${at}`)).toBe(false);
        expect(isRegistered(known, `http://${loopback}:${any}${at}/more`)).toBe(false);
        expect(isRegistered(known, `http://${loopback}:${any}${at}?a=b`)).toBe(false);
      }),
    );
  });

  test("that is no loopback one is registered with its own port alone", () => {
    fc.assert(
      fc.property(host, path, port, (name, at, other) => {
        expect(isRegistered(client(`https://${name}${at}`), `https://${name}:${other}${at}`)).toBe(false);
        expect(isRegistered(client(`https://${name}:${other}${at}`), `https://${name}:${other}${at}`)).toBe(true);
      }),
    );
  });

  test.each([
    ["a longer host than loopback", "http://127.0.0.1.evil.test/callback"],
    ["loopback as a user", "http://127.0.0.1:80@evil.test/callback"],
    ["loopback as a user without a port", "http://127.0.0.1@evil.test/callback"],
    ["a port that is none", "http://127.0.0.1:99999/callback"],
    ["another loopback host", "http://localhost/callback"],
    ["a longer path", "http://127.0.0.1/callback/more"],
    ["another spelling of the path", "http://127.0.0.1/%63allback"],
  ])("is not registered by %s", (_name, redirectUri) => {
    expect(isRegistered(client("http://127.0.0.1/callback"), redirectUri)).toBe(false);
  });

  test("that is registered leads to the host and path that were registered, however it was altered", () => {
    const all = ["http://127.0.0.1/callback", "https://notebook.test/callback"];
    const pieces = fc.constantFrom("@", ":80", ":", "/", "evil.test", ".evil.test", "?a", "#", "\\", "..", " ", "");
    const cut = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(fc.constantFrom(...all), cut, cut, pieces, pieces, (registered, from, length, one, other) => {
        const asked = `${registered.slice(0, from)}${one}${other}${registered.slice(from + (length % 3))}`;
        if (!isRegistered(client(...all), asked)) return;
        const { hostname, pathname, search, username } = new URL(asked);
        expect({ hostname, pathname, search, username }).toEqual({
          hostname: new URL(registered).hostname,
          pathname: "/callback",
          search: "",
          username: "",
        });
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["https", "https://notebook.test/callback", true],
    ["https with a query", "https://notebook.test/callback?a=b", true],
    ["http on loopback", "http://127.0.0.1/callback", true],
    ["http on loopback of IPv6", "http://[::1]:4711/callback", true],
    ["http on localhost", "http://localhost/callback", true],
    ["an application's own scheme", "com.example.app:/callback", true],
    ["http on another host", "http://notebook.test/callback", false],
    ["http on a host that begins like loopback", "http://127.0.0.1.evil.test/", false],
    ["a script", "javascript:alert(1)", false],
    ["data", "data:text/html,x", false],
    ["a scheme without a dot", "notebook:/callback", true],
    ["a fragment", "https://notebook.test/callback#a", false],
    ["credentials", "https://ada:secret@notebook.test/", false],
    ["no address", "/callback", false],
  ])("may be registered: %s", (_name, text, may) => expect(isRedirectUri(text)).toBe(may));
});

describe("names that look alike", () => {
  test.each([
    ["planner", "p1anner"],
    ["planner", "plan-ner"],
    ["planner", "plannner"],
    ["clerk", "c1erk"],
    ["c1-a", "d-a"],
    ["modern", "rnodem"],
    ["vw", "vvv"],
    ["vault-5", "vault-s"],
    ["log", "1og"],
  ])("%s and %s", (one, other) => {
    expect(lookAlikesOf(one, [one, other])).toEqual([other]);
    expect(lookAlikesOf(other, [one, other])).toEqual([one]);
  });

  test.each([
    ["planner", "clerk"],
    ["read", "ready"],
    ["cat", "cap"],
  ])("%s and %s do not", (one, other) => expect(lookAlikesOf(one, [one, other])).toEqual([]));

  const swaps = [
    ["l", "1"],
    ["l", "i"],
    ["o", "0"],
    ["s", "5"],
    ["m", "rn"],
    ["w", "vv"],
    ["d", "cl"],
    ["-", "."],
    ["-", ""],
  ] as const;

  test("are found after any number of swaps, in both directions, and never the name itself", () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, fc.array(fc.constantFrom(...swaps), { minLength: 1, maxLength: 6 }), (one, some) => {
        const other = some.reduce((text, [from, to]) => text.replace(from, to), one);
        fc.pre(other !== one);
        expect(lookAlikesOf(one, [one, other])).toEqual([other]);
        expect(lookAlikesOf(other, [one, other])).toEqual([one]);
      }),
    );
  });
});

test.each([
  ["one", "expenses", ["expenses"]],
  ["several, each once, in order", "b a b", ["b", "a"]],
  ["without what OpenID clients add", "offline_access expenses", ["expenses"]],
  ["none", "", undefined],
  ["spaces alone", "   ", undefined],
  ["nothing but offline_access", "offline_access", undefined],
  ["more than eight", "a b c d e f g h i", undefined],
  ["a name that is none", "a\u0000b", undefined],
])("scopes of a request: %s", (_name, text, names) => expect(scopesIn(text)).toEqual(names));
