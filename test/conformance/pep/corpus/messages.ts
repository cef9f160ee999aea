import type { BlockCause } from "@svc/core";
import { type Exchange, post, request, type Sent } from "../exchange.ts";

const message = (method: string, params?: object, id: string | number | undefined = 7) =>
  JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), method, ...(params && { params }) });
const read = message("tools/call", { name: "read_file", arguments: { path: "/a" } });
const utf8 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
const nowhere = { blocked: "unresolvable_call", status: 404 } as const;
/** No single message: nothing of it counts, its id neither. */
const unreadable = { blocked: "unresolvable_call", status: 400 } as const;

const calls = (name: string, body: string, target: string, more: Partial<Sent> = {}): Exchange => ({
  name: `an MCP message: ${name}`,
  send: post("/files", body, ["Accept: application/json, text/event-stream"]),
  want: { passes: { target, line: "POST /mcp", body, ...more } },
});
const unread = (name: string, body: string, headers: readonly string[] = []): Exchange => ({
  name: `an MCP message: ${name}`,
  send: post("/files", body, headers),
  want: unreadable,
});
const inBand = (name: string, body: string, cause: BlockCause, id: string | number = 7): Exchange => ({
  name: `an MCP message: ${name}`,
  send: post("/files", body),
  want: { inBand: cause, id },
});
/** The answer names the denied tool. */
const denied = (name: string, body: string, target: string, id: string | number = 7): Exchange => ({
  name: `an MCP message: ${name}`,
  send: post("/files", body),
  want: { inBand: "policy", id, target },
});

/** MCP's own error, with the status that it prescribes. */
const disagreeing = (name: string, headers: readonly string[]): Exchange => ({
  name: `an MCP message: ${name}`,
  send: post("/files", read, headers),
  want: { inBand: "unresolvable_call", id: 7, status: 400, code: -32_020 },
});

/**
 * The bytes of an MCP message alone determine the call (docs/reference/enforcement-point.md#mcp-messages).
 */
export const messages: readonly Exchange[] = [
  calls("a tool", read, "mcp:files/read_file"),
  calls("the session's own methods", message("initialize", { protocolVersion: "2025-06-18" }), "mcp:files"),
  calls("a ping", message("ping"), "mcp:files"),
  calls("a list of tools", message("tools/list"), "mcp:files"),
  calls("a notification", '{"jsonrpc":"2.0","method":"notifications/initialized"}', "mcp:files"),
  calls("a response to the server", '{"jsonrpc":"2.0","id":3,"result":{}}', "mcp:files"),
  calls("an error to the server", '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}', "mcp:files"),
  calls("a declared method", message("resources/read", { uri: "file:///a" }), "mcp:files#resources/read"),
  calls(
    "a privileged tool, bound whole",
    message("tools/call", { name: "delete_file", arguments: {} }),
    "mcp:files/delete_file",
    {
      isPrivileged: true,
    },
  ),
  calls(
    "arguments do not name the tool",
    message("tools/call", { name: "read_file", arguments: { name: "delete_file", Name: 1 } }),
    "mcp:files/read_file",
  ),
  calls(
    "an answer to the question of consent is the client's own, and is sent on",
    message("tools/call", {
      name: "read_file",
      arguments: {},
      inputResponses: { "svc/consent": { action: "accept" } },
    }),
    "mcp:files/read_file",
  ),
  calls("an escaped name is the name", read.replace("read_file", "\\u0072ead_file"), "mcp:files/read_file"),
  denied("an undeclared tool", message("tools/call", { name: "format_disk" }), "mcp:files/format_disk"),
  denied("a string as its id", message("tools/call", { name: "format_disk" }, "a-1"), "mcp:files/format_disk", "a-1"),
  inBand("a method without a class", message("prompts/get", { name: "x" }), "unresolvable_call"),
  inBand("a tool without a name", message("tools/call", {}), "unresolvable_call"),
  inBand("a name that is no string", message("tools/call", { name: ["read_file"] }), "unresolvable_call"),
  inBand("a name with a space", message("tools/call", { name: "read file" }), "unresolvable_call"),
  inBand("a name of 256 characters", message("tools/call", { name: "x".repeat(256) }), "unresolvable_call"),
  inBand(
    "a privileged tool that cannot be bound",
    message("tools/call", { name: "delete_file", arguments: { n: 0 } }).replace('"n":0', '"n":1e400'),
    "unbindable",
  ),
  unread("a batch", `[${read}]`),
  unread("no JSON", "ping"),
  unread("nothing", ""),
  unread("trailing bytes", `${read}x`),
  unread("two messages", `${read}\n${read}`),
  unread("a repeated method", read.replace('"method"', '"method":"ping","method"')),
  unread("a repeated name", read.replace('"name":', '"name":"delete_file","name":')),
  unread("repeated parameters", read.replace('"params":', '"params":{"name":"delete_file"},"params":')),
  unread("a repeated id", read.replace('"id":7', '"id":7,"id":8')),
  unread("a method in upper case", read.replace('"method"', '"Method"')),
  unread("a method beside its look-alike", read.replace('"method"', '"METHOD":"ping","method"')),
  unread("a name beside its look-alike", read.replace('"name":', '"Name":"delete_file","name":')),
  unread("a name beside one with a long s", read.replace('"params":', `"param${utf8("\u017f")}":{},"params":`)),
  unread("an id that is an object", read.replace('"id":7', '"id":{}')),
  unread("an id that loses digits", read.replace('"id":7', '"id":9007199254740993')),
  unread("both a call and a response", read.replace('"id":7', '"id":7,"result":{}')),
  unread("another version", read.replace("2.0", "1.0")),
  unread("bytes that are not UTF-8", read.replace("/a", "\xff")),
  unread("a byte order mark", `\xef\xbb\xbf${read}`),
  unread("compressed", read, ["Content-Encoding: gzip"]),
  disagreeing("a header that names another method", ["Mcp-Method: ping"]),
  disagreeing("a header that names another tool", ["Mcp-Method: tools/call", "Mcp-Name: delete_file"]),
  disagreeing("an underscore spelling that names another tool", ["Mcp_Name: delete_file"]),
  disagreeing("a spelling with a dot that names another tool", ["Mcp.Name: delete_file"]),
  disagreeing("two names, one of them right", ["Mcp-Name: read_file", "Mcp-Name: delete_file"]),
  inBand(
    "more than the cap",
    message("tools/call", { name: "read_file", arguments: { path: "x".repeat(1100) } }),
    "body_too_large",
  ),
  {
    name: "an MCP message: with another content type",
    send: request("POST /files", ["Content-Type: text/plain", `Content-Length: ${read.length}`], read),
    want: unreadable,
  },
  {
    name: "an MCP message: in another charset",
    send: request(
      "POST /files",
      ["Content-Type: application/json; charset=utf-16", `Content-Length: ${read.length}`],
      read,
    ),
    want: unreadable,
  },
  {
    name: "an MCP message: headers that match it pass",
    send: post("/files", read, ["Mcp-Method: tools/call", "Mcp-Name: read_file"]),
    want: {
      passes: { target: "mcp:files/read_file", line: "POST /mcp", headers: ["Mcp-Name: read_file"], body: read },
    },
  },
  {
    name: "the stream of an MCP session",
    send: request("GET /files", ["Accept: text/event-stream", "Mcp-Session-Id: s", "Last-Event-ID: 4"]),
    want: { passes: { target: "mcp:files", line: "GET /mcp", headers: ["Mcp-Session-Id: s", "Last-Event-ID: 4"] } },
  },
  {
    name: "the end of an MCP session",
    send: request("DELETE /files", ["Mcp-Session-Id: s"]),
    want: { passes: { target: "mcp:files", line: "DELETE /mcp" } },
  },
  { name: "a path beyond an MCP endpoint", send: post("/files/x", read), want: nowhere },
  { name: "another method on an MCP endpoint", send: request("PUT /files", ["Content-Length: 0"]), want: nowhere },
];
