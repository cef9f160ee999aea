import { describe, expect, test } from "vitest";
import { isMcpServerRef, mcpServerRef } from "../src/name-patterns.ts";
import { agentName, dataClass, dataClassList, quoted, scopeName, toolRef, userSub } from "../src/names.ts";

const emoji = "😀";
const loneSurrogate = "\ud83d";

const tables = [
  {
    of: "an agent's name",
    schema: agentName,
    takes: ["a", "0", "a1", "a.b", "a_b", "a-b", "a..b", "constructor", "a".repeat(128)],
    refuses: [
      "",
      "A",
      "aB",
      "-a",
      "a-",
      ".a",
      "a.",
      "_a",
      "a_",
      "a b",
      "a\n",
      "\na",
      "a/b",
      "a:b",
      "ä",
      "а",
      emoji,
      "a".repeat(129),
    ],
  },
  {
    of: "a tool ref",
    schema: toolRef,
    takes: [
      "a",
      "mcp:ledger/post_entry",
      "mcp:ledger#resources/read",
      "http:up/op",
      "AZaz09._:/@#-",
      "/",
      "..",
      "a".repeat(255),
    ],
    refuses: ["", "a b", "a\n", "a%b", "a?b", "a\\b", "a+b", "a\u0000", "ä", emoji, "a".repeat(256)],
  },
  {
    of: "a data class",
    schema: dataClass,
    takes: ["a", "finance", "finance.entries", "finance.entries.drafts", "a:b/c@d#e-f_g.h", "a".repeat(255)],
    refuses: ["", ".", ".a", "a.", "a..b", "a b", "a\n", "ä", "a".repeat(256)],
  },
  {
    of: "a list of data classes",
    schema: dataClassList,
    takes: ["a", "a b", "finance.entries crm hr", "finance finance.entries"],
    refuses: ["", " ", " a", "a ", "a  b", "a\tb", "a,b", "a a", "a b a", "a .b", "a ä"],
  },
  ...[
    { of: "a scope", schema: scopeName },
    { of: "a user's sub", schema: userSub },
  ].map((row) => ({
    ...row,
    takes: [
      "x",
      " ",
      "a/b",
      "a%2Fb",
      "'; drop",
      "%_\\",
      "Ausgaben für Ä",
      "__proto__",
      "а",
      emoji,
      "x".repeat(255),
      emoji.repeat(255),
    ],
    refuses: [
      "",
      "\u0000",
      "a\u0000b",
      "a\nb",
      "\t",
      "\u001f",
      "\u007f",
      "\u0085",
      loneSurrogate,
      `a${loneSurrogate}b`,
      "x".repeat(256),
      emoji.repeat(256),
      `${emoji.repeat(255)}x`,
    ],
  })),
];

describe.each(tables)("$of", ({ schema, takes, refuses }) => {
  test.each(takes)("accepts %j", (text) => expect(schema.safeParse(text)).toMatchObject({ success: true, data: text }));
  test.each(refuses)("rejects %j", (text) => expect(schema.safeParse(text).success).toBe(false));
  test.each([undefined, null, 1, true, [], {}, ["a"]])("rejects %j, which is not text", (value) =>
    expect(schema.safeParse(value).success).toBe(false),
  );
});

test.each([
  ["mcp:ledger/post_entry", "mcp:ledger"],
  ["mcp:ledger#resources/read", "mcp:ledger"],
  ["mcp:ledger", "mcp:ledger"],
  ["mcp:ledger/a/b", "mcp:ledger"],
  ["mcp:ledger/a#b", "mcp:ledger"],
  ["mcp:ledger#a/b", "mcp:ledger"],
  ["mcp:led.ger-2/x", "mcp:led.ger-2"],
  ["mcp:", undefined],
  ["mcp:/x", undefined],
  ["mcp:#x", undefined],
  ["mcp", undefined],
  ["MCP:ledger/x", undefined],
  ["xmcp:ledger/x", undefined],
  ["http:ledger/x", undefined],
  ["a2a:mcp:ledger/x", undefined],
  ["", undefined],
])("the MCP server of %j is %j", (ref, server) => {
  expect(mcpServerRef(ref)).toBe(server);
  expect(isMcpServerRef(ref)).toBe(ref === server);
});

test.each([
  ["books", '"books"'],
  ["bücher 📚", '"bücher 📚"'],
  ['a "b"', '"a \\"b\\""'],
  ["eve\u202e\u2066\u061cdlrow", '"eve\\u202e\\u2066\\u061cdlrow"'],
])("%j in a sentence turns no text round", (name, text) => {
  expect(quoted(name)).toBe(text);
  expect(JSON.parse(text)).toBe(name);
});
