import { describe, expect, test } from "vitest";
import { toolListFilter } from "../src/tool-lists.ts";
import type { McpUpstream } from "../src/upstream.ts";
import { files, upstreamsFrom } from "./support/upstreams.ts";

const upstream = upstreamsFrom([files]).byName.get("files") as McpUpstream;
const allowed = new Map([
  ["mcp:files/read_file", ["docs"]],
  ["mcp:files/write_file", ["finance"]],
]);

const pass = (
  pieces: readonly (string | Buffer)[],
  headers: string[],
  known: typeof allowed | undefined = allowed,
  id: number | undefined = 1,
) => {
  const filter = toolListFilter({ upstream, allowed: known, id }, headers);
  if (!filter) return undefined;
  const passed = pieces.map((piece) => filter.push(Buffer.from(piece)));
  return Buffer.concat([...passed, filter.end()]).toString("utf8");
};

const json = ["Content-Type", "application/json; charset=utf-8"];
const events = ["content-type", "text/event-stream"];
const tools = [
  { name: "read_file", title: "caf\u00e9" },
  { name: "write_file" },
  { name: "other" },
  { title: "nameless" },
];
const list = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools, nextCursor: "c" } });
const kept = { jsonrpc: "2.0", id: 1, result: { tools: [tools[0]], nextCursor: "c" } };
const empty = { jsonrpc: "2.0", id: 1, result: { tools: [] } };

test("a JSON list keeps what is allowed for its data class, and everything beside the tools", () => {
  expect(JSON.parse(pass([list.slice(0, 20), list.slice(20)], json) ?? "")).toEqual(kept);
});

test.each([
  ["compressed", [list], [...json, "content-encoding", "gzip"]],
  ["no JSON", ["<html>"], json],
  ["longer than any list", [list, " ".repeat(9 * 2 ** 20)], json],
])("a list that is %s is empty", (_name, pieces, headers) => {
  expect(JSON.parse(pass(pieces, headers) ?? "")).toEqual(empty);
});

test.each([
  ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'],
  ["a result without tools", '{"jsonrpc":"2.0","id":1,"result":{}}'],
])("%s passes as it is", (_name, text) => {
  expect(pass([text], json)).toBe(text);
});

test("nothing is made of no body, and a response of another type is none of this", () => {
  expect(pass([], json)).toBe("");
  expect(pass(["x"], ["content-type", "text/html"])).toBeUndefined();
  expect(pass(["x"], [])).toBeUndefined();
});

describe("in an event stream", () => {
  test.each(["\n", "\r\n", "\r"])("every list is filtered and everything else passes; lines end in %j", (end) => {
    const text = [
      ": hello",
      "",
      `id: 7`,
      "event: message",
      `data: ${list}`,
      "",
      'data: {"jsonrpc":"2.0","method":"notifications/x"}',
      "",
      "",
    ].join(end);
    const bytes = Buffer.from(text);
    for (const at of [0, 1, 40, bytes.indexOf("\u00e9") + 1, bytes.length - 1]) {
      const passed = pass([bytes.subarray(0, at), bytes.subarray(at)], events) ?? "";
      const data = passed.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
      expect(data.map((line) => JSON.parse(line.slice(5)))).toEqual([
        kept,
        { jsonrpc: "2.0", method: "notifications/x" },
      ]);
      expect(passed).toContain("id: 7");
      expect(passed).toContain(": hello");
    }
  });

  test("a list over several data lines is one list", () => {
    const text = `data: ${list.slice(0, 17)}\ndata: ${list.slice(17)}\n\n`;
    expect(JSON.parse((pass([text], events) ?? "").replace("data: ", ""))).toEqual(kept);
  });

  test("line ends may be mixed", () => {
    const passed = pass([`data: ${list}\n\r`, `\ndata: ${list}\r\n\n`], events) ?? "";
    expect(passed.match(/"name"/g)).toHaveLength(2);
  });

  test("an event without its end is none", () => {
    expect(pass([`data: ${list}\n`], events)).toBe("");
  });

  test("lists are empty where what is allowed is not known, and a compressed stream brings nothing", () => {
    const filter = toolListFilter({ upstream, allowed: undefined, id: undefined }, events);
    expect(filter?.push(Buffer.from(`data: ${list}\n\n`)).toString()).toContain('"tools":[]');
    expect(pass([`data: ${list}\n\n`], [...events, "content-encoding", "gzip"])).toBe("");
  });

  test("an event that never ends is not kept for ever", () => {
    const filter = toolListFilter({ upstream, allowed, id: 1 }, events);
    expect(() => filter?.push(Buffer.alloc(9 * 2 ** 20, "x"))).toThrow(RangeError);
  });
});
