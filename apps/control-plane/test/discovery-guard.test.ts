import { describe, expect, test } from "vitest";
import { isAdmitted, isPublic, parseAllowedDestination } from "../src/discovery/allow-list.ts";

describe("an address is public", () => {
  test.each(["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "192.167.255.255", "2606:4700:4700::1111"])(
    "%s",
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );
});

describe("an address is not public", () => {
  test.each([
    ["loopback", "127.0.0.1"],
    ["loopback", "127.255.255.254"],
    ["loopback", "::1"],
    ["unspecified", "0.0.0.0"],
    ["this network", "0.1.2.3"],
    ["unspecified", "::"],
    ["private", "10.0.0.1"],
    ["private", "172.16.0.1"],
    ["private", "172.31.255.255"],
    ["private", "192.168.0.1"],
    ["unique local", "fc00::1"],
    ["unique local", "fd12:3456::1"],
    ["link-local", "169.254.0.1"],
    ["link-local", "fe80::1"],
    ["site-local", "fec0::1"],
    ["metadata of most clouds", "169.254.169.254"],
    ["metadata of AWS over IPv6", "fd00:ec2::254"],
    ["metadata of Alibaba", "100.100.100.200"],
    ["metadata of Oracle", "192.0.0.192"],
    ["metadata of Azure", "168.63.129.16"],
    ["shared address space", "100.64.0.1"],
    ["benchmarking", "198.18.0.1"],
    ["documentation", "192.0.2.1"],
    ["documentation", "2001:db8::1"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
    ["multicast", "224.0.0.1"],
    ["multicast", "ff02::1"],
    ["mapped loopback", "::ffff:127.0.0.1"],
    ["mapped loopback in hexadecimal", "::ffff:7f00:1"],
    ["mapped public", "::ffff:8.8.8.8"],
    ["compatible loopback", "::127.0.0.1"],
    ["compatible loopback in hexadecimal", "::7f00:1"],
    ["translated loopback", "::ffff:0:127.0.0.1"],
    ["NAT64 of a private address", "64:ff9b::10.0.0.1"],
    ["local NAT64", "64:ff9b:1::7f00:1"],
    ["6to4 of loopback", "2002:7f00:1::"],
    ["6to4 of a public address", "2002:808:808::"],
    ["Teredo", "2001::1"],
    ["discard", "100::1"],
    ["not allocated", "4000::1"],
    ["link-local with a zone", "fe80::1%eth0"],
  ])("%s: %s", (_kind, address) => {
    expect(isPublic(address)).toBe(false);
  });
});

describe("SVC_DISCOVERY_ALLOW", () => {
  test.each([
    ["ledger.internal", "ledger.internal", "10.0.0.1", true],
    ["Ledger.Internal.", "ledger.internal", "10.0.0.1", true],
    ["ledger.internal", "ledger.internal.", "10.0.0.1", true],
    ["ledger.internal", "evil.example", "10.0.0.1", false],
    ["ledger.internal", "x.ledger.internal", "10.0.0.1", false],
    ["internal", "ledger.internal", "10.0.0.1", false],
    ["10.0.0.0/8", "ledger.internal", "10.255.0.1", true],
    ["10.0.0.0/8", "ledger.internal", "11.0.0.1", true],
    ["10.0.0.0/8", "ledger.internal", "192.168.0.1", false],
    ["10.0.0.1", "10.0.0.1", "10.0.0.1", true],
    ["10.0.0.1", "10.0.0.2", "10.0.0.2", false],
    ["127.0.0.0/8", "x", "::ffff:127.0.0.1", true],
    ["127.0.0.0/8", "x", "::1", false],
    ["::1", "x", "::1", true],
    ["[::1]", "x", "::1", true],
    ["fd00::/8", "x", "fd12::1", true],
    ["fd00::/8", "x", "fe80::1", false],
    ["0.0.0.0/0", "x", "169.254.169.254", true],
  ])("%s admits %s at %s: %j", (entry, host, address, want) => {
    const destination = parseAllowedDestination(entry);
    expect(destination).toBeDefined();
    expect(isAdmitted(host, address, destination === undefined ? [] : [destination])).toBe(want);
  });

  test.each([
    "",
    "http://x",
    "10.0.0.0/33",
    "10.0.0/8",
    "127.1",
    "0x7f.1",
    "2130706433",
    "a b",
    "*.internal",
    "x:80",
    "-a",
  ])("%j is an invalid entry", (entry) => {
    expect(parseAllowedDestination(entry)).toBeUndefined();
  });
});
