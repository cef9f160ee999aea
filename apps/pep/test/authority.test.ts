import { expect, test } from "vitest";
import { normalAuthority, ownAuthorities } from "../src/message/authority.ts";

test.each([
  ["Ledger.Internal", "ledger.internal"],
  ["ledger.internal.", "ledger.internal"],
  ["ledger.internal:80", "ledger.internal"],
  ["ledger.internal:443", "ledger.internal"],
  ["LEDGER.internal.:0080", "ledger.internal"],
  ["ledger.internal:8443", "ledger.internal:8443"],
  ["[::1]:8080", "[::1]:8080"],
  ["127.0.0.1", "127.0.0.1"],
  ["my_host-1", "my_host-1"],
])("%j is spelled %j", (text, want) => {
  expect(normalAuthority(text)).toBe(want);
});

test.each([
  "",
  "a..b",
  "ledger.internal..",
  ".a",
  "user@ledger.internal",
  "a:b@c",
  "a b",
  "a/b",
  "a:0",
  "a:65536",
  "a:",
  "a:1:2",
  "::1",
  "[::1",
  "a\u0130",
  "a,b",
])("%j is an invalid authority", (text) => {
  expect(normalAuthority(text)).toBeUndefined();
});

test("a loopback listener has every loopback name, with its port", () => {
  expect([...ownAuthorities("127.0.0.1", 16_001)]).toEqual(["127.0.0.1:16001", "localhost:16001"]);
  expect([...ownAuthorities("::1", 16_001)]).toEqual(["[::1]:16001", "localhost:16001"]);
  expect([...ownAuthorities("10.1.2.3", 80)]).toEqual(["10.1.2.3"]);
  const everywhere = ["127.0.0.1:16001", "[::1]:16001", "localhost:16001"];
  expect([...ownAuthorities("::", 16_001)]).toEqual(["[::]:16001", ...everywhere]);
  expect([...ownAuthorities("localhost", 16_001)].toSorted()).toEqual(everywhere.toSorted());
  expect([...ownAuthorities("0.0.0.0", 16_001)]).toEqual(["0.0.0.0:16001", "127.0.0.1:16001", "localhost:16001"]);
});
