import { describe, expect, test } from "vitest";
import { holdMessage } from "../src/protocols/mcp/held-message.ts";
import { readMessage } from "../src/protocols/mcp/message.ts";
import { createTargets } from "../src/protocols/mcp/targets.ts";
import { lintEntries } from "../src/start/lint.ts";
import { readUpstreams, upstreamsFile } from "../src/upstreams/upstreams-file.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const small = { when: { "/amount": { max: 500 }, "/cc": { absent: true } }, data_class: "pay.small" } as const;
const tools = {
  pay: { classify: [small], data_class: "pay.any" },
  refund: { classify: [small] },
  "#resources/read": { classify: [{ when: { "/uri": { prefix: "file:///handbook" } }, data_class: "handbook" }] },
  "#prompts/get": {
    classify: [
      { when: { "/name": { equals: "greet" }, "/arguments/to": { one_of: ["Ann"] } }, data_class: "greetings" },
      { when: { "/name": { equals: "list" }, "/arguments/to": { absent: true } }, data_class: "lists" } as const,
    ],
  },
};
const bank = { name: "bank", url: "http://bank/mcp", protocol: "mcp", tools };
const targets = createTargets({ name: "bank", tools });

const text = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const pay = (args: string, name = "pay") =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;

function classOf(message: string): string | undefined {
  const read = readMessage(Buffer.from(message));
  if (typeof read === "string") return read;
  const call = targets.ofMessage(read);
  return typeof call === "string" ? call : call.dataClass;
}

describe("the data class of a tool with rules is decided by its arguments", () => {
  test.each([
    ["what the rule admits", pay('{"amount":500}'), "pay.small"],
    ["the same in another spelling", pay('{ "\\u0061mount" : 5e2 }'), "pay.small"],
    ["more", pay('{"amount":501}'), "pay.any"],
    ["a member that the rule wants absent", pay('{"amount":5,"cc":null}'), "pay.any"],
    ["the same in another case", pay('{"amount":5,"CC":"x"}'), "pay.any"],
    ["a number as text", pay('{"amount":"5"}'), "pay.any"],
    ["a repeated member", pay('{"amount":5,"amount":5}'), "pay.any"],
    ["a repeated member anywhere in the message", pay('{"amount":5,"a":[{"b":1,"b":1}]}'), "pay.any"],
    ["a number that decimals read as more", pay('{"amount":500.00000000000000001}'), "pay.any"],
    ["text that is not Unicode", pay('{"amount":5,"a":"\\ud800"}'), "pay.any"],
    ["arguments that are no object", pay("[5]"), "pay.any"],
    ["arguments as text", pay('"{}"'), "pay.any"],
    ["no rule that holds, and no other class", pay('{"amount":501}', "refund"), "no_rule_holds"],
    ["no entry", pay("{}", "other"), "no_data_class"],
    ["a resource below the prefix", text("resources/read", { uri: "file:///handbook/a.md" }), "handbook"],
    ["a resource beside it", text("resources/read", { uri: "file:///handbook/../a.md" }), "no_rule_holds"],
    ["a prompt and its arguments", text("prompts/get", { name: "greet", arguments: { to: "Ann" } }), "greetings"],
    ["a prompt with others", text("prompts/get", { name: "greet", arguments: { to: "Bob" } }), "no_rule_holds"],
    ["a prompt without arguments", text("prompts/get", { name: "list" }), "lists"],
  ])("%s", (_name, message, want) => {
    expect(classOf(message)).toBe(want);
  });

  test("a call without arguments has none of their members", () => {
    const absent = createTargets({
      name: "bank",
      tools: { a: { classify: [{ when: { "/b": { absent: true } }, data_class: "c" }] } },
    });
    const read = (params: object) =>
      absent.ofMessage({ id: 1, method: "tools/call", params: { name: "a", ...params }, isExact: true });
    expect(read({})).toMatchObject({ dataClass: "c" });
    expect(read({ arguments: null })).toBe("no_rule_holds");
  });
});

test("the decision is requested for that class, and a call without one is blocked with a text that says so", async () => {
  const upstream = await startedUpstream((_request, response) => response.end('{"jsonrpc":"2.0","id":1,"result":{}}'));
  const { url, controlPlane, session } = await startedPep({ upstreams: [{ ...bank, url: upstream.url }] });
  for (const name of ["pay", "refund"]) controlPlane.policies.set(`mcp:bank/${name}`, {});
  const headers = await session();
  const send = (body: string) => fetch(`${url}/bank`, { method: "POST", headers, body });
  expect((await send(pay('{"amount":5}'))).status).toBe(200);
  const refused = await send(pay('{"amount":501}', "refund"));
  expect([refused.status, refused.headers.get("x-svc-blocked")]).toEqual([200, "unresolvable_call"]);
  expect(await refused.json()).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining("no rule of upstream bank") },
  });
  expect(
    controlPlane.asked.filter(({ path }) => path === "/v1/authorize").map(({ body }) => JSON.parse(body)),
  ).toMatchObject([{ target: "mcp:bank/pay", data_class: "pay.small" }]);
  expect(upstream.received).toHaveLength(1);
});

test("a list has a tool with rules where any class that it can get is allowed", () => {
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools: [{ name: "pay" }, { name: "refund" }] } });
  const listed = (...classes: string[]) => {
    const allowed = new Map(["pay", "refund"].map((name) => [`mcp:bank/${name}`, classes]));
    const held = holdMessage({ targets, id: 1, era: "legacy", mayList: true, allowed });
    const shown = Buffer.concat([held.write(Buffer.from(list)), held.end(false)]).toString();
    return (JSON.parse(shown) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);
  };
  expect([listed("pay.small"), listed("pay.any"), listed("pay"), listed("other")]).toEqual([
    ["pay", "refund"],
    ["pay"],
    ["pay", "refund"],
    [],
  ]);
});

test("--check names every class of a tool, and --lint compares its rules", () => {
  const read = readUpstreams(JSON.stringify({ upstreams: [bank] }), { defaultMode: "enforce" });
  const named = read.ok ? read.upstreams.all[0]?.protocol.targets() : [];
  expect(named?.map(({ target, dataClass }) => `${target} ${dataClass}`)).toEqual([
    ...["mcp:bank/pay pay.small", "mcp:bank/pay pay.any", "mcp:bank/refund pay.small"],
    ...["mcp:bank#resources/read handbook", "mcp:bank#prompts/get greetings", "mcp:bank#prompts/get lists"],
  ]);
  const twice = { ...bank, tools: { pay: { classify: [small, small] } } };
  const { upstreams } = upstreamsFile.parse({ upstreams: [twice] });
  expect(lintEntries(upstreams)).toMatchObject({
    rules: 2,
    findings: [{ at: "pay", kind: "subsumed", rule: 2, by: 1 }],
  });
});

test.each([":id", "?id"])("a rule of a tool that names %s is refused", (pointer) => {
  const rules = { classify: [{ when: { [pointer]: { equals: "a" } }, data_class: "a" }] };
  expect(upstreamsFile.safeParse({ upstreams: [{ ...bank, tools: { pay: rules } }] }).success).toBe(false);
});
