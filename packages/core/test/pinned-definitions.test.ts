import { describe, expect, test } from "vitest";
import { compile } from "../src/compile.ts";
import type { Definitions, ToolDefinition } from "../src/definitions.ts";
import { changedDefinitions, pinnedDefinitions, readDefinitions } from "../src/pinned-definitions.ts";
import { decodePolicyDocument, encodePolicyDocument, grantsTheSame } from "../src/policy.ts";
import { indexPolicy } from "../src/policy-index.ts";
import { answered, files, isSilent, ledger, post, posting, posts, says } from "./reconciliations.ts";

const definition = (hash: string): ToolDefinition => ({
  hash,
  parts: `title---${hash.padEnd(8, "-")}input---output--annotat-`,
  text: hash,
});
const [first, second] = [definition("first"), definition("second")];
const pinOf = ({ hash, parts }: ToolDefinition) => new Map([[post, { hash, parts }]]);
const none: Definitions = new Map();

describe("what a manifest pins", () => {
  const rows: readonly (readonly [string, Parameters<typeof readDefinitions>[1], Definitions, Definitions])[] = [
    ["what its server advertises", [posts(ledger, { definition: first })], none, pinOf(first)],
    [
      "what its server advertises now, not before",
      [posts(ledger, { definition: second })],
      pinOf(first),
      pinOf(second),
    ],
    [
      "the first of two that a server lists",
      [says(ledger, { ref: post, definition: first }, { ref: post, definition: second })],
      none,
      pinOf(first),
    ],
    ["nothing where no source is of the protocol", [posts(ledger)], none, none],
    ["nothing any more where all sources answered without it", [posts(ledger)], pinOf(first), none],
    ["what was pinned before, where its source is silent", [isSilent(ledger)], pinOf(first), pinOf(first)],
    ["what was pinned before, without a source", [], pinOf(first), pinOf(first)],
    [
      "what was read before its source failed",
      [answered(ledger, { ok: false, remedy: "m", tools: [{ ref: post, definition: second }] })],
      pinOf(first),
      pinOf(second),
    ],
    [
      "nothing of a tool that it does not declare",
      [says(ledger, { ref: post }), says(files, { ref: "mcp:files/read", definition: first })],
      none,
      none,
    ],
  ];
  test.each(rows)("is %s", (_name, answers, previous, pinned) => {
    const read = readDefinitions(posting(), answers);
    expect(pinnedDefinitions(posting(), answers, read, previous)).toEqual(pinned);
  });
});

test("a change names its members; what is new or gone is no change", () => {
  expect(changedDefinitions(pinOf(first), pinOf(second))).toEqual([
    { ref: post, changed: ["description"], before: "first", now: "second" },
  ]);
  expect(changedDefinitions(pinOf(first), pinOf(first))).toEqual([]);
  expect(changedDefinitions(none, pinOf(first))).toEqual([]);
  expect(changedDefinitions(pinOf(first), none)).toEqual([]);
});

describe("a policy", () => {
  const declared = posting().scopes.get("expenses");
  if (declared === undefined) throw new Error("it declares the scope");
  type Agent = readonly [agent: string, pins: Definitions];
  const compiled = (...agents: readonly Agent[]) => {
    const of = ([agent, definitions]: Agent) => ({ agent, manifestVersion: 1, declared, definitions });
    const compilation = compile("expenses", agents.map(of));
    if (!compilation.ok) throw new Error("it has few paths");
    return compilation.document;
  };
  const indexed = (...agents: readonly Agent[]) =>
    indexPolicy({ scope: "expenses", version: 1, document: compiled(...agents) });

  test("grants the same with equal definitions, and not with others", () => {
    expect(grantsTheSame(compiled(["a", pinOf(first)]), compiled(["a", pinOf(first)]))).toBe(true);
    expect(grantsTheSame(compiled(["a", pinOf(first)]), compiled(["a", pinOf(second)]))).toBe(false);
    expect(grantsTheSame(compiled(["a", none]), compiled(["a", pinOf(first)]))).toBe(false);
  });

  test("is read back with its definitions, and without any as before", () => {
    for (const pins of [pinOf(first), none]) {
      const text = encodePolicyDocument(compiled(["a", pins]));
      expect(encodePolicyDocument(decodePolicyDocument(text))).toBe(text);
      expect(text.includes("definition")).toBe(pins.size > 0);
    }
  });

  test("gives each agent its own definition, and the person that of the first entry agent with one", () => {
    const { agents, human } = indexed(["c", pinOf(second)], ["b", pinOf(first)], ["a", none]);
    const hashes = [...agents.values(), human].map(({ tools }) => tools.get(post)?.definitionHash);
    expect(hashes).toEqual([undefined, "first", "second", "first"]);
    expect(human.tools.get("mcp:ledger")?.definitionHash).toBeUndefined();
  });
});
