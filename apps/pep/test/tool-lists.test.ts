import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTargets } from "../src/protocols/mcp/targets.ts";
import { toolListFilter } from "../src/protocols/mcp/tool-lists.ts";
import { files } from "./support/upstreams.ts";

const targets = createTargets(files);
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
  const filter = toolListFilter({ targets, allowed: known, id }, headers);
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

test("a JSON list keeps the tools that are allowed for their data class, and every other member", () => {
  expect(JSON.parse(pass([list.slice(0, 20), list.slice(20)], json) ?? "")).toEqual(kept);
});

test.each([
  ["compressed", [list], [...json, "content-encoding", "gzip"]],
  ["no JSON", ["<html>"], json],
  ["longer than any list", [list, " ".repeat(9 * 2 ** 20)], json],
  ["of a type that only resembles JSON", ["<html>"], ["content-type", "application/json-rpc"]],
  ["of two types", ["<html>"], ["content-type", "text/html", "content-type", "application/json"]],
])("a list that is %s is empty", (_name, pieces, headers) => {
  expect(JSON.parse(pass(pieces, headers) ?? "")).toEqual(empty);
});

const readable = '{"name":"read_file"}';
const hidden = '{"name":"other"}';
const answer = (members: string) => `{"jsonrpc":"2.0","id":1,${members}}`;
const unclear: [string, string | Buffer][] = [
  ["two results", answer(`"result":{"tools":[${hidden}]},"result":{"tools":[${readable}]}`)],
  ["two results, the last without a list", answer(`"result":{"tools":[${hidden}]},"result":{}`)],
  ["two results, one spelled by an escape", answer(`"result":{"tools":[${hidden}]},"r\\u0065sult":{}`)],
  ["two ids", answer(`"id":2,"result":{"tools":[${hidden}]}`)],
  ["two lists", answer(`"result":{"tools":[${hidden}],"tools":[${readable}]}`)],
  ["two lists, the last of them none", answer(`"result":{"tools":[${hidden}],"tools":null}`)],
  ["two cursors", answer(`"result":{"tools":[${hidden}],"nextCursor":"a","nextCursor":"b"}`)],
  ["a tool with two names", answer('"result":{"tools":[{"name":"other","name":"read_file"}]}')],
  ["a result in capitals", answer(`"Result":{"tools":[${hidden}]}`)],
  ["a result beside one in capitals", answer(`"result":{"tools":[${readable}]},"RESULT":{"tools":[${hidden}]}`)],
  ["a list in capitals", answer(`"result":{"Tools":[${hidden}]}`)],
  ["a list with a letter that folds into one of its own", answer(`"result":{"tool\u017f":[${hidden}]}`)],
  ["a batch", `[${answer(`"result":{"tools":[${hidden}]}`)}]`],
  ["not-a-number, which some readers take", answer(`"result":{"tools":[${hidden}],"x":NaN}`)],
  ["a comment, which some readers take", answer(`/**/"result":{"tools":[${hidden}]}`)],
  ["a byte order mark", `\uFEFF${answer(`"result":{"tools":[${hidden}]}`)}`],
  ["more nesting than any message", answer(`"result":{"tools":[${hidden}],"x":${"[".repeat(600)}${"]".repeat(600)}}`)],
];

describe("a list that readers could read differently is emptied, also in an event:", () => {
  test.each(unclear)("%s", (_name, text) => {
    expect(JSON.parse(pass([text], json) ?? "")).toEqual(empty);
    expect(pass([`id: 7\ndata: ${text}\n\n`], events)).toBe(`id: 7\ndata: ${JSON.stringify(empty)}\n\n`);
  });

  test("bytes that are not UTF-8", () => {
    const bytes = Buffer.from(answer(`"result":{"tools":[${readable}],"x":"\u00ff"}`), "latin1");
    expect(JSON.parse(pass([bytes], json) ?? "")).toEqual(empty);
  });

  test("on a stream without a request the list keeps the message's own id", () => {
    const passed = (text: string) =>
      toolListFilter({ targets, allowed, id: undefined }, events)
        ?.push(Buffer.from(`data: ${text}\n\n`))
        .toString();
    expect(passed(answer(`"result":{"tools":[],"tools":[${hidden}]}`))).toContain('"id":1,');
    expect(passed("[{}]")).toContain('"id":null,');
  });
});

describe("with any repeats and spellings, no reader finds a tool that is not allowed", () => {
  /** JSON with its members as written: JSON.parse would drop those that repeat. */
  type Written = string | null | readonly Written[] | { readonly members: readonly (readonly [string, Written])[] };
  const membersOf = (names: readonly string[], value: fc.Arbitrary<Written>): fc.Arbitrary<Written> =>
    fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 3 }).map((members) => ({ members }));
  const name = fc.constantFrom<Written>("read_file", "read_file", "other", null);
  const tool = membersOf(["name", "name", "NAME", "title"], name);
  const list = fc.array(tool, { minLength: 1, maxLength: 3 });
  const result = membersOf(["tools", "tools", "Tools", "tool\u017f"], fc.oneof({ arbitrary: list, weight: 4 }, name));
  const message = membersOf(["id", "result", "result", "Result"], fc.oneof({ arbitrary: result, weight: 4 }, name));
  const textOf = (value: Written): string => {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (!("members" in value)) return `[${value.map(textOf).join()}]`;
    return `{${value.members.map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)}`).join()}}`;
  };
  /** Every string that some reader could find as the name of a tool in some list. */
  const found = (value: Written, path: readonly string[]): string[] => {
    const [wanted, ...rest] = path;
    if (typeof value === "string") return wanted === undefined ? [value] : [];
    if (value === null) return [];
    if (!("members" in value)) return value.flatMap((each) => found(each, path));
    return value.members.flatMap(([key, member]) => (key.toUpperCase() === wanted ? found(member, rest) : []));
  };
  const writtenFrom = (value: unknown): Written => {
    if (typeof value !== "object" || value === null) return String(value);
    if (Array.isArray(value)) return value.map(writtenFrom);
    return { members: Object.entries(value).map(([key, member]) => [key, writtenFrom(member)] as const) };
  };

  test.each([
    ["JSON", json, (text: string) => text, (passed: string) => passed],
    ["an event", events, (text: string) => `data: ${text}\n\n`, (passed: string) => passed.slice(5)],
  ])("in %s", (_name, headers, sent, received) => {
    fc.assert(
      fc.property(message, (written) => {
        const text = textOf(written);
        const passed = received(pass([sent(text)], headers) ?? "").trim();
        const seen = passed === text ? written : writtenFrom(JSON.parse(passed));
        expect(
          found(seen, ["RESULT", "TOOLS", "NAME"]).filter((tool) => tool !== "read_file" && tool !== "null"),
        ).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a tool whose name readers could read differently is removed alone", () => {
  const text = answer(`"result":{"tools":[${readable},{"name":"read_file","Name":"other"},"read_file",null]}`);
  expect(pass([text], json)).toBe(answer(`"result":{"tools":[${readable}]}`));
});

test("a repeated member that names no tool leaves the list unchanged", () => {
  const text = answer(`"result":{"tools":[{"name":"read_file","inputSchema":{"a":1,"a":2}},${hidden}]}`);
  expect(JSON.parse(pass([text], json) ?? "").result.tools).toHaveLength(1);
});

test.each([
  ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'],
  ["a result without tools", '{"jsonrpc":"2.0","id":1,"result":{}}'],
  ["a result that repeats something and has no tools", '{"id":1,"result":{"content":[{"a":1,"a":2}]}}'],
  ["an error that repeats something", '{"id":1,"error":{"code":1,"code":2}}'],
  ["a notification that repeats something", '{"method":"notifications/x","params":{"a":1,"a":2}}'],
])("%s is forwarded unchanged", (_name, text) => {
  expect(pass([text], json)).toBe(text);
  expect(pass([`data: ${text}\n\n`], events)).toBe(`data: ${text}\n\n`);
});

test.each(["", "keep-alive", '"text"', "12"])("an event whose data is not a message is unchanged: %j", (data) => {
  expect(pass([`event: ping\ndata: ${data}\n\n`], events)).toBe(`event: ping\ndata: ${data}\n\n`);
});

test("an empty body stays empty, and a response of another type is not filtered", () => {
  expect(pass([], json)).toBe("");
  expect(pass(["x"], ["content-type", "text/html"])).toBeUndefined();
  expect(pass(["x"], [])).toBeUndefined();
});

describe("in an event stream", () => {
  test.each(["\n", "\r\n", "\r"])("every list is filtered and everything else is unchanged; lines end in %j", (end) => {
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

  test("an event without its end is dropped", () => {
    expect(pass([`data: ${list}\n`], events)).toBe("");
  });

  test("lists are empty where the allowed tools are unknown, and a compressed stream is empty", () => {
    const filter = toolListFilter({ targets, allowed: undefined, id: undefined }, events);
    expect(filter?.push(Buffer.from(`data: ${list}\n\n`)).toString()).toContain('"tools":[]');
    expect(pass([`data: ${list}\n\n`], [...events, "content-encoding", "gzip"])).toBe("");
  });

  test("an event without an end has a bounded buffer", () => {
    const filter = toolListFilter({ targets, allowed, id: 1 }, events);
    expect(() => filter?.push(Buffer.alloc(9 * 2 ** 20, "x"))).toThrow(RangeError);
  });
});
