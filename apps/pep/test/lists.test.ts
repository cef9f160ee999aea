import { describe, expect, test } from "vitest";
import { listFilter } from "../src/protocols/mcp/list-filter.ts";
import { createTargets } from "../src/protocols/mcp/targets.ts";
import type { Era } from "../src/protocols/protocol.ts";

const declared = createTargets({
  name: "files",
  data_class: "docs",
  tools: { "#prompts/get": "prompts", "#resources/read": "files" },
});
const allowed = new Map([
  ["mcp:files/read_file", ["docs"]],
  ["mcp:files#prompts/get", ["prompts"]],
  ["mcp:files#resources/read", ["files"]],
]);

interface Options {
  readonly targets?: typeof declared;
  readonly era?: Era;
  readonly without?: string;
}

/** The answer as the agent gets it. @param without a target that is not allowed */
function filtered(result: string, { targets = declared, era, without = "" }: Options = {}): string {
  const some = new Map([...allowed].filter(([target]) => target !== without));
  const context = { targets, id: 1, mayList: true, era, allowed: some };
  const filter = listFilter(context, 200, ["content-type", "application/json"]);
  if (!filter || "body" in filter) throw new Error("not filtered");
  const text = `{"jsonrpc":"2.0","id":1,"result":${result}}`;
  return Buffer.concat([filter.push(Buffer.from(text)), filter.end()]).toString("utf8");
}
const resultOf = (answer: string) => JSON.parse(answer).result;

describe("a list holds what may be called:", () => {
  test.each<[string, string, string, string]>([
    ["prompts", "prompts", '{"name":"a","arguments":[{"name":"x"}]}', "mcp:files#prompts/get"],
    ["resources", "resources", '{"name":"n","uri":"file:///a","size":1.0}', "mcp:files#resources/read"],
    ["resource templates", "resourceTemplates", '{"name":"n","uriTemplate":"file:///{a}"}', "mcp:files#resources/read"],
    ["tools", "tools", '{"name":"read_file"}', "mcp:files/read_file"],
  ])("%s", (_name, member, element, target) => {
    const list = `{"${member}":[${element}],"nextCursor":"c"}`;
    expect(filtered(list)).toContain(list);
    expect(resultOf(filtered(list, { without: target }))).toEqual({ [member]: [], nextCursor: "c" });
  });

  test.each([
    ["a prompt without a name", '{"prompts":[{"uri":"file:///a"}]}'],
    ["a resource without a URI", '{"resources":[{"name":"a"}]}'],
    ["a resource with two URIs", '{"resources":[{"uri":"a","uri":"b"}]}'],
    ["a resource with a URI in capitals", '{"resources":[{"URI":"a","uri":"b"}]}'],
    ["a template named by its URI alone", '{"resourceTemplates":[{"uri":"file:///a"}]}'],
  ])("%s cannot be called, and is hidden", (_name, list) => {
    expect(Object.values(resultOf(filtered(list)))).toEqual([[]]);
  });

  test("each of several lists in one result by its own rule", () => {
    const result = '{"tools":[{"name":"read_file"}],"prompts":[{"name":"a"}],"resources":[{"uri":"u"}]}';
    const kept = { tools: [{ name: "read_file" }], prompts: [], resources: [{ uri: "u" }] };
    expect(resultOf(filtered(result, { without: "mcp:files#prompts/get" }))).toEqual(kept);
  });

  test("a list whose name differs in case from a known one is refused", () => {
    expect(JSON.parse(filtered('{"Prompts":[]}'))).toMatchObject({ error: { code: -32603 } });
  });
});

describe("a filtered list is one caller's, and old at once:", () => {
  test("in a modern revision also where the upstream does not say how long it may be kept", () => {
    const answer = filtered('{"resultType":"complete","tools":[{"name":"other"}]}', { era: "modern" });
    expect(answer).toContain('"result":{"ttlMs":0,"cacheScope":"private","resultType":"complete","tools":[]}');
    expect(filtered('{"tools":[],"ttlMs":60000}', { era: "modern" })).toContain(
      '{"cacheScope":"private","tools":[],"ttlMs":0}',
    );
  });

  test("an earlier revision, which has no such members, gets none", () => {
    expect(filtered('{"tools":[]}', { era: "legacy" })).toContain('"result":{"tools":[]}');
  });
});

describe("a list under rules for arguments", () => {
  const ruled = createTargets({
    name: "files",
    tools: {
      "#resources/read": {
        classify: [{ when: { "/uri": { prefix: "/public" } }, data_class: "files" }],
        data_class: "secrets",
      },
    },
  });

  test("holds the resources whose URI may be read, and every template that may lead to one", () => {
    const list =
      '{"resources":[{"uri":"/public/a"},{"uri":"/private/a"}],"resourceTemplates":[{"uriTemplate":"/{a}"}]}';
    expect(resultOf(filtered(list, { targets: ruled }))).toEqual({
      resources: [{ uri: "/public/a" }],
      resourceTemplates: [{ uriTemplate: "/{a}" }],
    });
  });
});
