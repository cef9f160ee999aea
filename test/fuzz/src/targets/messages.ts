import fc from "fast-check";
import { jsonMarks } from "../broken-json.ts";
import { mutated } from "../mutated-text.ts";
import { asLatin1, type Case, requestOf, type Target } from "../target.ts";

const message = (method: string, params: object = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const corpus = [
  message("tools/call", { name: "read_file", arguments: { path: "a" } }),
  message("tools/call", { name: "write_file", arguments: { path: "a", text: "b" } }),
  message("tools/call", { name: "delete_file", arguments: { path: "a" } }),
  message("tools/list"),
  message("initialize", { protocolVersion: "2025-06-18" }),
  message("resources/read", { uri: "file:///a" }),
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  '{"jsonrpc":"2.0","id":1,"result":{}}',
  `[${message("tools/list")}]`,
  '{"amount":1,"to":{"name":"a"},"list":[1,2.5,-0,1e3]}',
].map(asLatin1);

const pieces = [
  ...jsonMarks,
  ...[
    '"name":"delete_file",',
    '"Name":"delete_file",',
    '"method":"ping",',
    '"METHOD":"ping",',
    '"params":{"name":"delete_file"},',
  ],
  ...[
    '"__proto__":{"name":"read_file"},',
    '"constructor":1,',
    '"id":null,',
    '"jsonrpc":"1.0",',
    "\u00ef\u00bb\u00bf",
    "\u00c3\u00a9",
    "\u00ff",
  ],
  ...["/", "*", "#", "%2f", "[".repeat(80), '{"a":'.repeat(80)],
];

const generated = fc.json({ maxDepth: 3 }).map(asLatin1);
const rarely = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const type = rarely(
  "application/json",
  ...["application/json; charset=utf-8", "application/json; charset=utf-16", "text/plain", "application/jsonp"],
);
const more = rarely<readonly string[]>(
  [],
  ["Mcp-Method: tools/call"],
  ["Mcp-Name: read_file"],
  ["mcp_name: delete_file"],
  ["Content-Encoding: gzip"],
);

const posted: fc.Arbitrary<Case> = fc
  .record({
    to: rarely("/files", "/ledger/post", "/files/x"),
    body: fc.oneof({ weight: 9, arbitrary: mutated(corpus, pieces) }, { weight: 1, arbitrary: generated }),
    type,
    more,
  })
  .map(({ to, body, type, more }) => ({
    send: requestOf(
      `POST ${to}`,
      ["Host: {own}", `Content-Type: ${type}`, `Content-Length: ${body.length}`, ...more],
      body,
    ),
    check: (_heard, arrivals) =>
      arrivals.flatMap((arrival) => (arrival.body.toString("latin1") === body ? [] : ["another body"])),
  }));

export const messages: Target = {
  name: "messages",
  about: "JSON-RPC messages and privileged bodies: the decided tool is the one called",
  cases: posted,
};
