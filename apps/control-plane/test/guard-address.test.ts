import { describe, expect, test } from "vitest";
import { parseStoreAddress } from "../src/redis/address.ts";

const plain = {
  kind: "single",
  tls: false,
  nodes: [{ host: "cache", port: 6379 }],
  username: undefined,
  password: undefined,
  database: 0,
  group: "",
  sentinelUsername: undefined,
  sentinelPassword: undefined,
};

describe("an address of the cache store", () => {
  test.each([
    { url: "redis://cache", want: {} },
    { url: "redis://cache:7000/3", want: { nodes: [{ host: "cache", port: 7000 }], database: 3 } },
    { url: "redis://cache/", want: {} },
    { url: "rediss://svc:p%40ss%3Aword@cache", want: { tls: true, username: "svc", password: "p@ss:word" } },
    { url: "redis://:secret@[::1]:7000", want: { password: "secret", nodes: [{ host: "::1", port: 7000 }] } },
    {
      url: "redis+sentinel://svc:pw@s1,s2:26380/main/2?sentinel_password=spw",
      want: {
        kind: "sentinel",
        nodes: [
          { host: "s1", port: 26_379 },
          { host: "s2", port: 26_380 },
        ],
        username: "svc",
        password: "pw",
        group: "main",
        database: 2,
        sentinelPassword: "spw",
      },
    },
    {
      url: "rediss+cluster://c1:7001,c2:7002",
      want: {
        kind: "cluster",
        tls: true,
        nodes: [
          { host: "c1", port: 7001 },
          { host: "c2", port: 7002 },
        ],
      },
    },
  ])("$url is read", ({ url, want }) => {
    expect(parseStoreAddress(url)).toEqual({ ...plain, ...want });
  });

  test.each([
    "http://secret@cache",
    "redis://",
    "redis:cache",
    "redis://secret@a,b",
    "redis://secret@cache:0",
    "redis://secret@cache:65536",
    "redis://secret@cache:port",
    "redis://secret@cache/one",
    "redis://secret@cache/1/2",
    "redis+sentinel://secret@s1",
    "redis+cluster://secret@c1/1",
    "redis+other://secret@c1",
  ])("%s is rejected, and the error does not repeat it", (url) => {
    expect(() => parseStoreAddress(url)).toThrow(TypeError);
    expect(() => parseStoreAddress(url)).not.toThrow(/secret/);
  });
});
