import { expect, test } from "vitest";
import { httpBlockAnswer } from "../src/protocols/answers.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { resolve, resolveUpgrade } from "../src/resolve/resolve.ts";
import { upstreamsOf } from "../src/upstreams/upstream.ts";
import { ledger, upstreamsFrom } from "./support/upstreams.ts";

test("a protocol that no other file knows resolves its upstream's calls", () => {
  const target = { target: "echo", targetKind: "tool", dataClass: "public" } as const;
  const echo: Protocol = {
    basePath: "/base",
    takesUpgrades: false,
    ordersSessions: undefined,
    targets: () => [target],
    resolve: (method, path) => (method === "POST" ? "message" : path === "/echo" ? target : { ambiguous: "x" }),
    unmapped: { cause: "unresolvable_call" },
    readCall: async () => ({ call: target }),
    listChanges: () => [],
    blockAnswer: httpBlockAnswer,
    onChange: undefined,
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
  expect(resolveUpgrade(upstreams, line("GET", "/base/echo")).kind).toBe("unmapped");
});
