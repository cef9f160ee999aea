import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AnswerRefused } from "../src/protocols/mcp/held-message.ts";
import { listFilter } from "../src/protocols/mcp/list-filter.ts";
import { createTargets } from "../src/protocols/mcp/targets.ts";
import type { DefinitionWatch } from "../src/protocols/protocol.ts";
import { files } from "./support/upstreams.ts";

const targets = createTargets(files);
const allowed = new Map([
  ["mcp:files/read_file", ["docs"]],
  ["mcp:files/write_file", ["finance"]],
]);

interface Asked {
  readonly id?: number | undefined;
  readonly mayList?: boolean;
  readonly allowed?: typeof allowed | undefined;
  readonly status?: number;
}

/** What the agent gets: the whole answer where it is replaced. */
const pass = (pieces: readonly (string | Buffer)[], headers: string[], asked: Asked = {}) => {
  const { status = 200, ...context } = { id: 1, mayList: true, allowed, ...asked };
  const filter = listFilter({ targets, ...context }, status, headers);
  if (!filter) return undefined;
  if ("body" in filter) return filter.body;
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
const refused = { jsonrpc: "2.0", id: 1, error: { code: -32603, message: expect.stringContaining("cannot be read") } };

test("a JSON list keeps the tools that are allowed for their data class, and every other member", () => {
  expect(JSON.parse(pass([list.slice(0, 20), list.slice(20)], json) ?? "")).toEqual(kept);
});

test.each([
  ["compressed", [list], [...json, "content-encoding", "gzip"]],
  ["no JSON", ["<html>"], json],
  ["longer than any list", [list, " ".repeat(9 * 2 ** 20)], json],
  ["of a type that only resembles JSON", ["<html>"], ["content-type", "application/json-rpc"]],
  ["of two types", ["<html>"], ["content-type", "text/html", "content-type", "application/json"]],
  ["of another type", [list], ["content-type", "text/plain"]],
  ["of no type", [list], []],
])("in place of a list that is %s comes a JSON-RPC error", (_name, pieces, headers) => {
  expect(JSON.parse(pass(pieces, headers) ?? "")).toEqual(refused);
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

describe("in place of a list that readers could read differently comes an error, also in an event:", () => {
  test.each(unclear)("%s", (_name, text) => {
    expect(JSON.parse(pass([text], json) ?? "")).toEqual(refused);
    const [id, data, ...end] = (pass([`id: 7\ndata: ${text}\n\n`], events) ?? "").split("\n");
    expect([id, JSON.parse(data?.replace("data: ", "") ?? ""), ...end]).toEqual(["id: 7", refused, "", ""]);
  });

  test("bytes that are not UTF-8", () => {
    const bytes = Buffer.from(answer(`"result":{"tools":[${readable}],"x":"\u00ff"}`), "latin1");
    expect(JSON.parse(pass([bytes], json) ?? "")).toEqual(refused);
  });

  test("on a stream without a request the error has the message's own id", () => {
    const passed = (text: string) => pass([`data: ${text}\n\n`], events, { id: undefined });
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
        // What is no error is the text itself, with tools cut out of it.
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
  const odd =
    '{"name":"read_file","Name":"other"},{"name":"other","name":"read_file"},"read_file",null,[{"name":"other"}]';
  expect(pass([answer(`"result":{"tools":[${readable},${odd}]}`)], json)).toBe(
    answer(`"result":{"tools":[${readable}]}`),
  );
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

test("an empty body stays empty, and an error page passes", () => {
  expect(pass([], json)).toBe("");
  expect(pass([], [], { status: 202 })).toBeUndefined();
  expect(pass(["x"], ["content-type", "text/html"], { status: 404 })).toBeUndefined();
  expect(pass(["x"], ["content-type", "text/html"], { id: undefined, mayList: false })).toBeUndefined();
});

describe("kept tools are the upstream's bytes", () => {
  const kept = '{"name":"read_file","big":9223372036854775807,"n":[1.0,1e-7],"title":"caf\\u00e9", "z":1 ,"a":-0.0}';
  const listOf = (tools: string) => `{ "id" : 1,"jsonrpc":"2.0" , "result":{"x":1.0,"tools": [${tools}],"y":1e1}}\r\n`;

  test.each([
    ["nothing is hidden", `${kept}, ${kept}`, `${kept}, ${kept}`],
    ["the first is hidden", `${hidden} , ${kept}`, kept],
    ["the last is hidden", `${kept} ,${hidden}`, kept],
    ["one between is hidden", `${kept},\n${hidden},\n${kept}`, `${kept},\n${kept}`],
    ["several around are hidden", `${hidden},${hidden},${kept},${hidden},null,${kept},1`, `${kept},${kept}`],
    ["all are hidden", `${hidden},${hidden}`, ""],
    ["there are none", " ", " "],
  ])("where %s", (_name, tools, want) => {
    const [one, other] = [listOf(tools), listOf(want)];
    for (const size of [1, 7, 10_000]) {
      const pieces = one.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
      expect(pass(pieces, json)).toBe(other);
    }
    const inEvent = (text: string) => `data: ${text.trim().replaceAll("\n", "\ndata: ")}\n\n`;
    expect(pass([inEvent(one)], events)).toBe(inEvent(other));
  });

  test("a list that was for every caller, for an hour, is for this one, and old", () => {
    const hints = (ttl: string, scope: string) => `"result":{"ttlMs":${ttl},"tools":[],"cacheScope":${scope}}`;
    expect(pass([answer(hints("3600000", '"public"'))], json)).toBe(answer(hints("0", '"private"')));
    expect(pass([answer(hints('{"a":[1]}', "[[]]"))], json)).toBe(answer(hints("0", '"private"')));
  });
});

describe("the answer to another request", () => {
  const other: Asked = { id: 2, mayList: false, allowed: undefined };
  const result = (id: string, members = `"tools":[${hidden}]`) => `{"jsonrpc":"2.0","id":${id},"result":{${members}}}`;

  test.each(["1", '"2"', "null"])("brings no list under the id %s", (id) => {
    const refusal = { jsonrpc: "2.0", id: JSON.parse(id) ?? 2, error: expect.anything() };
    expect(JSON.parse(pass([result(id)], json, other) ?? "")).toEqual(refusal);
    const [event] = (pass([`data: ${result(id)}\n\n`], events, other) ?? "").split("\n");
    expect(JSON.parse(event?.replace("data: ", "") ?? "")).toEqual(refusal);
  });

  test("may hold tools of its own, and passes as it is", () => {
    for (const text of [result("2"), result("1", '"content":[]'), '{"method":"x","params":{"tools":[1.0]}}']) {
      expect(pass([text], json, other)).toBe(text);
      expect(pass([`data: ${text}\n\n`], events, other)).toBe(`data: ${text}\n\n`);
    }
  });

  test("streams where it is long, all but its end", () => {
    const long = `"content":"${"x".repeat(3 * 2 ** 20)}"`;
    const pieces = (text: string) => text.match(/.{1,65536}/gs) ?? [];
    for (const text of [result("2", long), `${result("1", long)} \n`]) {
      expect(pass(pieces(text), json, other)).toBe(text);
      expect(pass(pieces(`id: 1\ndata: ${text.trim()}\n\n`), events, other)).toBe(`id: 1\ndata: ${text.trim()}\n\n`);
    }
    const foreign = result("1", `${long},"tools":[${hidden}]`);
    expect(() => pass(pieces(foreign), json, other)).toThrow(AnswerRefused);
    expect(() => pass(pieces(`data: ${foreign}\n\n`), events, other)).toThrow(AnswerRefused);
    expect(() => pass(pieces(`${result("2", long)}x`), json, other)).toThrow(AnswerRefused);
  });
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
      expect(passed).toMatch(/^:\n\n/);
    }
  });

  test("a list over several data lines is one list", () => {
    const text = `data: ${list.slice(0, 17)}\ndata: ${list.slice(17)}\n\n`;
    expect(JSON.parse((pass([text], events) ?? "").replaceAll("data: ", ""))).toEqual(kept);
  });

  test("line ends may be mixed", () => {
    const passed = pass([`data: ${list}\n\r`, `\ndata: ${list}\r\n\n`], events) ?? "";
    expect(passed.match(/"name"/g)).toHaveLength(2);
  });

  test("an event without its end is dropped", () => {
    expect(pass([`data: ${list}\n`], events)).toBe("");
  });

  test("in place of a compressed stream comes an error, or none where no request waits", () => {
    const gzipped = [...events, "content-encoding", "gzip"];
    expect(JSON.parse(pass([list], gzipped) ?? "")).toEqual(refused);
    expect(pass([list], gzipped, { id: undefined })).toContain("upstream_unreachable");
  });

  test("an event longer than any list is refused, and not buffered for ever", () => {
    const piece = Buffer.alloc(2 ** 20, "x");
    const passed = pass([Buffer.from("data: ["), ...Array<Buffer>(9).fill(piece), Buffer.from("\n\n")], events) ?? "";
    expect(JSON.parse(passed.replace("data: ", ""))).toEqual(refused);
  });

  const secret = `{"jsonrpc":"2.0","id":1,"result":{"tools":[${hidden}]}}`;
  test.each([
    ["a field that clients do not know", `other: ${secret}\n\n`, "\n"],
    ["a comment", `: ${secret}\n\n`, ":\n\n"],
    ["a second byte order mark", `\ufeff\ufeffdata: ${secret}\n\n`, "\n"],
    ["a mark in front of a later line", `data: 1\n\ufeffdata: ${secret}\n\n`, "data: 1\n\n"],
    ["a name in capitals", `Data: ${secret}\n\n`, "\n"],
    ["a name with a space", ` data: ${secret}\n\n`, "\n"],
    ["an id in which some readers find another line", `id: 1\u2028data: ${secret}\n\n`, "\n"],
    ["an event's name in which some do", `event: x\u0085data: ${secret}\n\n`, "\n"],
    ["one byte order mark", "\ufeffdata: 1\n\n", "data: 1\n\n"],
    ["names without a value", "id\ndata\n\n", "id: \ndata: \n\n"],
  ])("only what clients read passes: %s", (_name, text, want) => {
    expect(pass([text], events)).toBe(want);
    expect(
      pass(
        [...text].map((char) => Buffer.from(char)),
        events,
      ),
    ).toBe(want);
  });

  test("text that holds a message for some readers is refused", () => {
    expect(pass([`data: 1 ${secret}\n\n`], events)).toContain('"error"');
    expect(pass([`data: \ufeff${secret}\n\n`], events)).toContain('"error"');
  });
});

test("where what is allowed is not known a list is an error, never an empty success", () => {
  const unknown = { jsonrpc: "2.0", id: 1, error: { code: -32603, message: expect.stringContaining("did not say") } };
  expect(JSON.parse(pass([list], json, { allowed: undefined }) ?? "")).toEqual(unknown);
  expect(JSON.parse((pass([`data: ${list}\n\n`], events, { allowed: undefined }) ?? "").slice(5))).toEqual(unknown);
});

describe("the work for an answer is that of its pieces, and is spread over them", () => {
  const piecesOf = (text: string, bytes: number) => {
    const all = Buffer.from(text);
    return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
  };
  /** Processor time of this process, which other programs do not lengthen: of the longest piece, and of all. */
  const work = (pieces: readonly Buffer[], headers: string[]) => {
    // Each element is read again for its definition.
    const watch: DefinitionWatch = { onChange: "report", isChanged: (_target, read) => read() === undefined };
    const filter = listFilter({ targets, allowed, id: 1, mayList: true, watch }, 200, headers);
    if (!filter || "body" in filter) throw new Error("not filtered");
    let [longest, whole] = [0, 0];
    for (const run of [...pieces.map((piece) => () => filter.push(piece)), () => filter.end()]) {
      const started = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(started);
      longest = Math.max(longest, user + system);
      whole += user + system;
    }
    return { longest, whole };
  };
  /** The least of three, since a collection of garbage may fall into one. */
  const leastWork = (text: string, headers: string[], bytes: number) => {
    const tries = [1, 2, 3].map(() => work(piecesOf(text, bytes), headers));
    return {
      longest: Math.min(...tries.map(({ longest }) => longest)),
      whole: Math.min(...tries.map(({ whole }) => whole)),
    };
  };
  const list = (tools: number) =>
    answer(`"result":{"tools":[${'{"name":"other"},'.repeat(tools)}${"{},".repeat(5 * tools)}${readable}]}`);

  test.each<[string, (scale: number) => string, string[], number]>([
    ["a list of 3.2 MB", (scale) => list(12_500 * scale), json, 65_536],
    ["an event of 3.2 MB", (scale) => `data: ${list(12_500 * scale)}\n\n`, events, 65_536],
    ["a list of 1 MB in pieces", (scale) => list(3_600 * scale), json, 64],
    ["an event of 2 MB without an end", (scale) => `data: [${"1,".repeat(125_000 * scale)}`, events, 64],
    ["a line of 1 MB without a name", (scale) => "x".repeat(125_000 * scale), events, 64],
    ["a value of 1 MB", (scale) => `id: ${"x".repeat(125_000 * scale)}`, events, 64],
  ])("%s", (_name, textOf, headers, bytes) => {
    const eighth = leastWork(textOf(1), headers, bytes);
    const all = leastWork(textOf(8), headers, bytes);
    // Eight times the work, where rescanning would make it 64 times.
    expect(all.whole / eighth.whole).toBeLessThan(24);
    expect(all.longest / all.whole).toBeLessThan(0.25);
  });
});
