import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, expectTypeOf, test } from "vitest";
import { httpBlockAnswer } from "../src/protocols/answers.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { protocolNames } from "../src/protocols/protocols.ts";
import { resolve, resolveUpgrade } from "../src/resolve/resolve.ts";
import type { Upstream } from "../src/upstreams/upstream.ts";
import { upstreamsOf } from "../src/upstreams/upstream.ts";
import { ledger, upstreamsFrom } from "./support/upstreams.ts";

const folder = fileURLToPath(new URL("../src/", import.meta.url));

test("no file outside of the protocols folder names a protocol, so none can branch on it", () => {
  const files = globSync("**/*.ts", { cwd: folder }).filter((file) => !file.startsWith("protocols/"));
  const named = files.filter((file) => {
    const text = readFileSync(folder + file, "utf8");
    return protocolNames.some((name) => text.includes(`"${name}"`));
  });
  expect(files.length).toBeGreaterThan(20);
  expect(named).toEqual([]);
  expectTypeOf<Upstream["protocol"]>().toEqualTypeOf<Protocol>();
});

test("an upstream's calls are resolved by its protocol's value alone", () => {
  const target = { target: "echo", targetKind: "tool", dataClass: "public" } as const;
  const echo: Protocol = {
    basePath: "/base",
    takesUpgrades: false,
    ordersSessions: undefined,
    targets: () => [target],
    resolve: (method, path) => (method === "POST" ? "message" : path === "/echo" ? target : { ambiguous: "x" }),
    readCall: async () => ({ call: target }),
    blockAnswer: httpBlockAnswer,
    filterFor: () => undefined,
  };
  const [upstream] = upstreamsFrom([ledger]).all;
  if (!upstream) throw new Error("no upstream");
  const upstreams = upstreamsOf([{ ...upstream, protocol: echo }]);
  const line = (method: string, path: string) => ({
    method,
    target: path,
    hosts: ["ledger.internal"],
    own: new Set<string>(),
  });
  expect(resolve(upstreams, line("GET", "/base/echo"))).toMatchObject({
    kind: "call",
    path: "/base/echo",
    call: target,
  });
  expect(resolve(upstreams, line("POST", "/base/any")).kind).toBe("message");
  expect(resolve(upstreams, line("GET", "/base/any")).kind).toBe("unresolvable");
  expect(resolve(upstreams, line("GET", "/echo")).kind).toBe("unmapped");
  expect(resolveUpgrade(upstreams, line("GET", "/base/echo")).kind).toBe("unresolvable");
});
