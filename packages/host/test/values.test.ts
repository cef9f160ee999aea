import { describe, expect, test } from "vitest";
import { commaList, flag, httpUrl, listenAddress, wholeNumber } from "../src/index.ts";

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
