import { describe, expect, test } from "vitest";
import { createSessionTargets } from "../src/decide/session-targets.ts";
import { createToolDefinitions } from "../src/decide/tool-definitions.ts";

const pinOf = (hash: string) => ({ hash, parts: `title---${hash.padEnd(8, "-")}input---output--annotat-` });
const [first, second, third] = ["first", "second", "third"].map(pinOf) as [Pin, Pin, Pin];
type Pin = ReturnType<typeof pinOf>;

describe("changed tools", () => {
  const opened = () => {
    let reports = 0;
    const definitions = createToolDefinitions(
      () => reports++,
      () => 0,
    );
    return { ...definitions, reports: () => reports };
  };

  test("are reported once for each change, and counted", () => {
    const { note, changeOf, read, reports } = opened();
    note("files", "mcp:files/a", first, second);
    changeOf("files", "mcp:files/a", first);
    note("files", "mcp:files/a", first, second);
    expect(read().changed).toMatchObject([{ changed: ["description"], count: 3 }]);
    note("files", "mcp:files/a", first, undefined);
    expect(read().changed).toMatchObject([{ changed: ["definition"], count: 1 }]);
    expect(reports()).toBe(2);
  });

  test("are judged by the newest list, for each pin by its own", () => {
    const { note, changeOf } = opened();
    note("files", "mcp:files/a", first, second);
    expect(changeOf("files", "mcp:files/a", second)).toBeUndefined();
    note("files", "mcp:files/a", second, third);
    expect(changeOf("files", "mcp:files/a", second)).toEqual(["description"]);
    note("files", "mcp:files/a", second, first);
    expect(changeOf("files", "mcp:files/a", first)).toBeUndefined();
  });

  test("are listed up to a limit; what finds the list full is counted", () => {
    const { note, read } = opened();
    for (let at = 0; at < 10_002; at++) note("files", `mcp:files/${at}`, first, second);
    expect(read().changed).toHaveLength(10_000);
  });
});

describe("the definitions that a caller's session pinned", () => {
  const opened = () => {
    let nowMs = 0;
    let answer = true;
    let reads = 0;
    const targets = { allowed: new Map(), pins: new Map([["mcp:files/a", first]]) };
    const store = createSessionTargets(
      async () => {
        reads++;
        return answer ? targets : undefined;
      },
      () => nowMs,
    );
    const fail = () => {
      answer = false;
    };
    return { ...store, pass: (ms: number) => (nowMs += ms), fail, reads: () => reads, pins: targets.pins };
  };
  const credential = (token: string) => ({ sessionId: "s", token });

  test("are read once a minute, however many calls ask at once", async () => {
    const { pinsOf, pass, reads, pins } = opened();
    const found = await Promise.all([1, 2, 3].map(() => pinsOf(credential("a"))));
    expect(found).toEqual([pins, pins, pins]);
    pass(59_999);
    await pinsOf(credential("a"));
    expect(reads()).toBe(1);
    pass(1);
    await pinsOf(credential("a"));
    expect(reads()).toBe(2);
  });

  test("are asked for again where the control plane gave none, and once a caller was forgotten", async () => {
    const { pinsOf, fail, reads } = opened();
    for (let caller = 0; caller < 257; caller++) await pinsOf(credential(String(caller)));
    await pinsOf(credential("0"));
    expect(reads()).toBe(258);
    fail();
    expect(await pinsOf(credential("other"))).toBeUndefined();
    await pinsOf(credential("other"));
    expect(reads()).toBe(260);
  });
});
