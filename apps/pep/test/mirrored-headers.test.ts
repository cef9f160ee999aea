import { describe, expect, test } from "vitest";
import { eraOf } from "../src/protocols/mcp/era.ts";
import { type McpMessage, readMessage } from "../src/protocols/mcp/message.ts";
import { isMirrored } from "../src/protocols/mcp/mirrored-headers.ts";

const revision = "io.modelcontextprotocol/protocolVersion";
const modern = { _meta: { [revision]: "2026-07-28" } };

const message = (method: string, params: object = {}): McpMessage => {
  const read = readMessage(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })));
  if (typeof read === "string") throw new Error(read);
  return read;
};
const call = (params: object = {}) => message("tools/call", { name: "read_file", ...params });
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

describe("headers agree with the message:", () => {
  test.each<[string, McpMessage, string[]]>([
    ["none is sent", call(), []],
    ["method and name", call(), ["Mcp-Method", "tools/call", "Mcp-Name", "read_file"]],
    ["an encoded name", call({ name: "r\u00e9sum\u00e9" }), ["mcp-name", encoded("r\u00e9sum\u00e9")]],
    ["an encoded name in ASCII", call(), ["mcp-name", encoded("read_file")]],
    ["a name that looks encoded", call({ name: "=?base64?literal?=" }), ["mcp-name", encoded("=?base64?literal?=")]],
    ["a name with spaces around it", call({ name: " a " }), ["mcp-name", encoded(" a ")]],
    ["a resource by its URI", message("resources/read", { uri: "file:///a" }), ["mcp-name", "file:///a"]],
    ["a prompt by its name", message("prompts/get", { name: "p" }), ["mcp-name", "p"]],
    ["a task by its id", message("tasks/get", { taskId: "t" }), ["mcp-name", "t"]],
    ["a method that no table names", message("files/open", { uri: "file:///a" }), ["mcp-name", "file:///a"]],
    ["the revision", call(modern), ["MCP-Protocol-Version", "2026-07-28"]],
    ["a revision that the message does not name", call(), ["mcp-protocol-version", "2025-11-25"]],
    ["a text argument", call({ arguments: { region: "us-west1" } }), ["Mcp-Param-Region", "us-west1"]],
    ["a nested argument", call({ arguments: { at: { region: "a" } } }), ["Mcp-Param-Region", "a"]],
    ["an encoded argument", call({ arguments: { to: "Grüße" } }), ["Mcp-Param-To", encoded("Grüße")]],
    ["a number in another spelling", call({ arguments: { n: 42 } }), ["Mcp-Param-N", "42.0"]],
    ["a flag", call({ arguments: { dry: false } }), ["Mcp-Param-Dry", "false"]],
  ])("%s", (_name, sent, headers) => {
    expect(isMirrored(sent, headers)).toBe(true);
  });
});

describe("headers disagree with the message:", () => {
  test.each<[string, McpMessage, string[]]>([
    ["another method", call(), ["mcp-method", "ping"]],
    ["another method where CGI looks for it", call(), ["Mcp_Method", "ping"]],
    ["a second method", call(), ["mcp-method", "tools/call", "mcp-method", "ping"]],
    ["another name", call(), ["mcp-name", "delete_file"]],
    ["another name, encoded", call(), ["mcp-name", encoded("delete_file")]],
    ["a name where the call has none", message("tools/call"), ["mcp-name", "read_file"]],
    ["the URI in place of a tool's name", call({ uri: "file:///a" }), ["mcp-name", "file:///a"]],
    ["the name in place of a resource's URI", message("resources/read", { uri: "u", name: "n" }), ["mcp-name", "n"]],
    ["an encoding with other characters", call({ name: "a" }), ["mcp-name", "=?base64?Y*Q==?="]],
    ["an encoding with bits left over", call({ name: "a" }), ["mcp-name", "=?base64?YR==?="]],
    ["an empty encoding", call({ name: "" }), ["mcp-name", "=?base64??="]],
    ["an encoding of no UTF-8", call({ name: "\ufffd" }), ["mcp-name", "=?base64?/w==?="]],
    ["another revision", call(modern), ["mcp-protocol-version", "2025-11-25"]],
    ["a second revision", call(modern), ["mcp-protocol-version", "2026-07-28", "MCP_Protocol_Version", "2025-11-25"]],
    ["a value that no argument has", call({ arguments: { region: "eu" } }), ["mcp-param-region", "us"]],
    ["a value without arguments", call(), ["mcp-param-region", "us"]],
    ["a text that only resembles a number", call({ arguments: { n: 16 } }), ["mcp-param-n", "0x10"]],
    ["the name of nothing", call({ arguments: { n: null } }), ["mcp-param-n", "null"]],
    ["an argument where CGI looks for it", call({ arguments: { n: "a" } }), ["MCP_PARAM_N", "b"]],
  ])("%s", (_name, sent, headers) => {
    expect(isMirrored(sent, headers)).toBe(false);
  });
});

describe("the era is the message's, then the header's:", () => {
  test.each<[string, string | undefined, string | undefined, string]>([
    ["neither names a revision", undefined, undefined, "legacy"],
    ["a session's header", undefined, "2025-11-25", "legacy"],
    ["a header alone", undefined, "2026-07-28", "modern"],
    ["a message alone", "2026-07-28", undefined, "modern"],
    ["a later revision", "2027-01-01", "2027-01-01", "modern"],
    ["a draft", "DRAFT-2027", undefined, "modern"],
    ["an earlier revision in a message", "2025-11-25", "2026-07-28", "legacy"],
  ])("%s", (_name, inMessage, inHeader, era) => {
    const sent = call(inMessage === undefined ? {} : { _meta: { [revision]: inMessage } });
    expect(eraOf(sent, inHeader === undefined ? [] : ["mcp-protocol-version", inHeader])).toBe(era);
  });
});
