import { describe, expect, test } from "vitest";
import { isJsonBody } from "../src/message/media-type.ts";
import { readMessage } from "../src/protocols/mcp/message.ts";
import { createTargets } from "../src/protocols/mcp/targets.ts";
import { files } from "./support/upstreams.ts";

const declared = createTargets(files);
const withoutDefault = createTargets({ ...files, data_class: undefined });

const read = (text: string | Uint8Array) => readMessage(typeof text === "string" ? Buffer.from(text) : text);
const calls = (text: string, targets = declared) => {
  const message = read(text);
  const call = typeof message === "string" ? undefined : targets.ofMessage(message);
  return typeof call === "object" ? `${call.target} ${call.dataClass}` : undefined;
};
const request = (method: string, params?: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

describe("the message in the body names the target", () => {
  test.each([
    ["a tool", request("tools/call", { name: "read_file" }), "mcp:files/read_file docs"],
    [
      "a tool with a data class of its own",
      request("tools/call", { name: "write_file" }),
      "mcp:files/write_file docs.drafts",
    ],
    [
      "a tool called without an id",
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}',
      "mcp:files/a docs",
    ],
    [
      "a tool named like an inherited member",
      request("tools/call", { name: "constructor" }),
      "mcp:files/constructor docs",
    ],
    [
      "a tool named like a method's entry",
      request("tools/call", { name: "#resources/read" }),
      "mcp:files/#resources/read docs",
    ],
    ["initialize", request("initialize", {}), "mcp:files protocol"],
    ["ping", request("ping"), "mcp:files protocol"],
    ["tools/list", request("tools/list", { cursor: "x" }), "mcp:files protocol"],
    ["server/discover", request("server/discover", {}), "mcp:files protocol"],
    ["subscriptions/listen", request("subscriptions/listen", { notifications: {} }), "mcp:files protocol"],
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/initialized"}', "mcp:files protocol"],
    ["an answer to the server", '{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}', "mcp:files protocol"],
    ["an error for the server", '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}', "mcp:files protocol"],
    ["a declared method", request("resources/read", { uri: "file:///a" }), "mcp:files#resources/read docs"],
  ])("%s", (_name, text, want) => {
    expect(calls(text)).toBe(want);
  });

  test.each([
    ["an undeclared method", request("prompts/get", { name: "p" })],
    ["a notification's method with an id", request("notifications/initialized")],
    ["a tool without a name", request("tools/call", { arguments: {} })],
    ["a uri in place of a name", request("tools/call", { uri: "read_file" })],
    ["a name that is no text", request("tools/call", { name: 7 })],
    ["a name outside the alphabet", request("tools/call", { name: "read file" })],
    ["a look-alike letter in a name", request("tools/call", { name: "re\u0430d" })],
    ["a name that is too long", request("tools/call", { name: "a".repeat(250) })],
  ])("%s has no target", (_name, text) => {
    expect(calls(text)).toBeUndefined();
  });

  test("a tool has no target if neither it nor the upstream names a data class", () => {
    expect(calls(request("tools/call", { name: "read_file" }), withoutDefault)).toBeUndefined();
    expect(calls(request("tools/call", { name: "write_file" }), withoutDefault)).toBe(
      "mcp:files/write_file docs.drafts",
    );
  });
});

describe("a message that readers could read differently is rejected", () => {
  test.each([
    ["a batch", "batch", `[${request("ping")}]`],
    [
      "a repeated member",
      "repeated_member",
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"a"}}',
    ],
    [
      "a repeated member, escaped",
      "repeated_member",
      '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}',
    ],
    [
      "a repeated member of params",
      "repeated_member",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}',
    ],
    ["a member in another case", "disguised_member", '{"jsonrpc":"2.0","id":1,"Method":"tools/call","method":"ping"}'],
    [
      "a member of params in another case",
      "disguised_member",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}',
    ],
    [
      "a long s, which folds to s",
      "disguised_member",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","param\\u017f":{"name":"b"},"params":{"name":"a"}}',
    ],
    [
      "a Kelvin sign, which folds to k",
      "disguised_member",
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"tas\\u212a":1}}',
    ],
    [
      "method and result at once",
      "not_a_message",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":{}}',
    ],
    ["neither method nor result", "not_a_message", '{"jsonrpc":"2.0","id":1}'],
    ["an answer without an id", "not_a_message", '{"jsonrpc":"2.0","result":{}}'],
    ["another version", "not_a_message", '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ["no version", "not_a_message", '{"id":1,"method":"ping"}'],
    ["a null id", "not_a_message", '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ["an id that does not survive", "not_a_message", '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
    ["an infinite id", "not_a_message", '{"jsonrpc":"2.0","id":1e400,"method":"ping"}'],
    ["params by position", "not_a_message", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}'],
    ["a method that is no text", "not_a_message", '{"jsonrpc":"2.0","id":1,"method":7}'],
    ["trailing bytes", "malformed_message", `${request("ping")}{}`],
    ["a byte order mark", "malformed_message", `\ufeff${request("ping")}`],
    ["no JSON", "malformed_message", "ping"],
    ["nothing", "malformed_message", ""],
    ["a value that is no object", "not_a_message", "null"],
    [
      "nesting without end",
      "malformed_message",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`,
    ],
  ])("%s", (_name, fault, text) => {
    expect(read(text)).toBe(fault);
  });

  test("bytes that are not UTF-8", () => {
    expect(read(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping\u00ff"}', "latin1"))).toBe("malformed_message");
    expect(read(Buffer.from(request("ping"), "utf16le"))).toBe("malformed_message");
  });
});

test("arguments can repeat or imitate names: they belong to the tool", () => {
  const text =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":"x","NAME":"y"}}}\n';
  expect(calls(text)).toBe("mcp:files/a docs");
});

test.each([
  ["one JSON type", ["content-type", "application/json"], true],
  ["two types", ["content-type", "application/json", "content-type", "application/json"], false],
  ["another type where CGI looks for it", ["content-type", "application/json", "content_type", "text/plain"], false],
  ["a coding where CGI looks for it", ["content-type", "application/json", "Content_Encoding", "gzip"], false],
  ["two codings", ["content-type", "application/json", "content-encoding", "identity, gzip"], false],
  ["no type", [], false],
])("a body with %s has headers %j and is read as JSON: %s", (_name, headers, isJson) => {
  expect(isJsonBody(headers)).toBe(isJson);
});
