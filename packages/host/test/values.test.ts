import { describe, expect, test } from "vitest";
import { commaList, flag, httpUrl, isLoopback, listenAddress, wholeNumber } from "../src/index.ts";

describe("setting text", () => {
  test.each([
    ["flag", flag, "true", true],
    ["flag", flag, "yes", undefined],
    ["comma list", commaList, "a, b", ["a", "b"]],
    ["comma list", commaList, "a,,b", undefined],
    ["whole number", wholeNumber({ min: 1, max: 9 }), "9", 9],
    ["whole number", wholeNumber({ min: 1, max: 9 }), "10", undefined],
    ["whole number", wholeNumber({ min: 1, max: 9 }), "1.5", undefined],
    ["whole number", wholeNumber({ min: 1, max: 9 }), "1e0", undefined],
    ["listen address", listenAddress, "0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
    ["listen address", listenAddress, "[::1]:80", { host: "::1", port: 80 }],
    ["listen address", listenAddress, "::1:80", undefined],
    ["listen address", listenAddress, "host:65536", undefined],
    ["listen address", listenAddress, ":80", undefined],
    ["http url", httpUrl, "ftp://x", undefined],
    ["http url", httpUrl, "http://user:pass@x", undefined],
    ["http url", httpUrl, "nonsense", undefined],
  ])("%s: %j is read as %j", (_name, reader, given, want) => {
    expect(reader.safeParse(given).data).toEqual(want);
  });
});

describe("loopback", () => {
  test.each([
    ...["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.10"],
    ...["::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "[::ffff:7f00:1]"],
  ])("is %s", (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  test.each([
    ...["", "127.evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.localhost", "notlocalhost"],
    ...["0.0.0.0", "::", "[::]", "128.0.0.1", "10.0.0.1", "::2", "::ffff:10.0.0.1", "fe80::1%lo", "[::1"],
  ])("is not %j", (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
